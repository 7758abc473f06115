// Command files serves files in memory over SFTP, to anybody.
package main

import (
	"crypto/ed25519"
	"log"
	"net"
	"os"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

func main() {
	config := &ssh.ServerConfig{NoClientAuth: true}
	signer, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)))
	if err != nil {
		log.Fatal(err)
	}
	config.AddHostKey(signer)
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	handlers := sftp.InMemHandler()
	for {
		conn, err := listener.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(conn, config, handlers)
	}
}

func serve(conn net.Conn, config *ssh.ServerConfig, handlers sftp.Handlers) {
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for wanted := range channels {
		channel, requests, err := wanted.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range requests {
				r.Reply(r.Type == "subsystem", nil)
			}
		}()
		go sftp.NewRequestServer(channel, handlers).Serve()
	}
}
