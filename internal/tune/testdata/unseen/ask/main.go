// Command ask puts the same load on a server of files, a directory or a stock each time.
package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"connectrpc.com/connect"
	"github.com/go-ldap/ldap/v3"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	ask := map[string]func(string) error{"files": files, "directory": directory, "rpc": rpc}[os.Args[1]]
	if err := ask(os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func files(address string) error {
	conn, err := ssh.Dial("tcp", address, &ssh.ClientConfig{User: "load", HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		return err
	}
	defer conn.Close()
	client, err := sftp.NewClient(conn)
	if err != nil {
		return err
	}
	defer client.Close()
	text := bytes.Repeat([]byte("a line of text\n"), 4000)
	for i := range 300 {
		name := fmt.Sprintf("/file%d", i%50)
		f, err := client.Create(name)
		if err != nil {
			return err
		}
		if _, err := f.Write(text); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		if f, err = client.Open(name); err != nil {
			return err
		}
		if _, err := f.WriteTo(&bytes.Buffer{}); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		if _, err := client.ReadDir("/"); err != nil {
			return err
		}
	}
	return nil
}

func directory(address string) error {
	conn, err := ldap.DialURL("ldap://" + address)
	if err != nil {
		return err
	}
	defer conn.Close()
	for i := range 600 {
		_, err := conn.Search(ldap.NewSearchRequest("ou=people", ldap.ScopeWholeSubtree, ldap.NeverDerefAliases, 0, 0, false,
			fmt.Sprintf("(room=%d)", i%40), []string{"uid", "mail"}, nil))
		if err != nil {
			return err
		}
	}
	return nil
}

func rpc(address string) error {
	client := connect.NewClient[wrapperspb.Int64Value, structpb.Struct](http.DefaultClient, "http://"+address+"/stock.Stock/Find")
	for i := range int64(4000) {
		if _, err := client.CallUnary(context.Background(), connect.NewRequest(wrapperspb.Int64(i))); err != nil {
			return err
		}
	}
	return nil
}
