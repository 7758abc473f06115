// Keys runs a key-value server that speaks Redis' protocol.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/tidwall/redcon"

	"leaks/plant"
)

func main() { plant.Main(serve, load) }

func serve(keep func(any, []byte)) string {
	var mu sync.RWMutex
	items := make(map[string][]byte)
	s := redcon.NewServerNetwork("tcp", "127.0.0.1:0", func(conn redcon.Conn, cmd redcon.Command) {
		switch strings.ToLower(string(cmd.Args[0])) {
		case "set":
			mu.Lock()
			items[string(cmd.Args[1])] = append([]byte(nil), cmd.Args[2]...)
			mu.Unlock()
			var args []string
			for _, a := range cmd.Args[:2] {
				args = append(args, string(a))
			}
			keep(args, cmd.Args[2])
			conn.WriteString("OK")
		case "get":
			mu.RLock()
			value, ok := items[string(cmd.Args[1])]
			mu.RUnlock()
			if ok {
				conn.WriteBulk(value)
			} else {
				conn.WriteNull()
			}
		}
	}, nil, nil)
	ready := make(chan error, 1)
	go s.ListenServeAndSignal(ready)
	plant.Must(<-ready)
	return s.Addr().String()
}

func load(address string) {
	value := strings.Repeat("0123456789abcdef", 50)
	var all sync.WaitGroup
	for c := range 8 {
		all.Go(func() {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				return
			}
			defer conn.Close()
			go io.Copy(io.Discard, conn)
			w := bufio.NewWriter(conn)
			for i := range 5000 {
				key := fmt.Sprint("key:", c, ":", i%1000)
				fmt.Fprintf(w, "*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(key), key, len(value), value)
				fmt.Fprintf(w, "*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n", len(key), key)
			}
			w.Flush()
		})
	}
	all.Wait()
}
