// Shell runs an SSH server.
package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/gliderlabs/ssh"
	client "golang.org/x/crypto/ssh"

	"leaks/plant"
)

func main() { plant.Main(serve, load) }

func serve(keep func(any, []byte)) string {
	s := &ssh.Server{Handler: func(s ssh.Session) {
		b := make([]byte, 1<<10)
		for {
			n, err := io.ReadFull(s, b)
			if n > 0 {
				keep(s.Command(), b[:n])
				fmt.Fprintln(s, n)
			}
			if err != nil {
				return
			}
		}
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	plant.Must(err)
	go s.Serve(l)
	return l.Addr().String()
}

func load(address string) {
	var all sync.WaitGroup
	for c := range 200 {
		all.Go(func() {
			config := &client.ClientConfig{User: "user", HostKeyCallback: client.InsecureIgnoreHostKey()}
			conn, err := client.Dial("tcp", address, config)
			if err != nil {
				return
			}
			defer conn.Close()
			s, err := conn.NewSession()
			plant.Must(err)
			in, err := s.StdinPipe()
			plant.Must(err)
			s.Stdout = io.Discard
			plant.Must(s.Start(fmt.Sprint("store in file ", c)))
			for {
				if _, err := io.WriteString(in, strings.Repeat("line of input 16", 64)); err != nil {
					return
				}
			}
		})
	}
	all.Wait()
}
