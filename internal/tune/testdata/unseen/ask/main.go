// Command ask puts the same load on a directory or a stock each time.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"connectrpc.com/connect"
	"github.com/go-ldap/ldap/v3"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	ask := map[string]func(string) error{"directory": directory, "rpc": rpc}[os.Args[1]]
	if err := ask(os.Args[2]); err != nil {
		log.Fatal(err)
	}
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
