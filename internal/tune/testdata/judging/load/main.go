// Command load asks a name server or a Redis server the same things each time.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/miekg/dns"
	"github.com/redis/go-redis/v9"
)

func main() {
	var err error
	if os.Args[1] == "names" {
		err = names(os.Args[2])
	} else {
		err = keys(os.Args[2])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func names(address string) error {
	client := dns.Client{Net: "tcp"}
	conn, err := client.Dial(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	for i := range 40_000 {
		m := new(dns.Msg)
		m.SetQuestion(fmt.Sprintf("host%d.example.", i%20_000), dns.TypeA)
		if _, _, err := client.ExchangeWithConn(m, conn); err != nil {
			return err
		}
	}
	return nil
}

func keys(address string) error {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	for i := range 1_500 {
		pipe := client.Pipeline()
		for n := range 40 {
			key := fmt.Sprintf("key%d", (i*40+n)%10_000)
			pipe.Set(ctx, key, strings.Repeat(key, 20), 0)
			pipe.Get(ctx, key)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
