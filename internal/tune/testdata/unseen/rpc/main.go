// Command rpc answers calls with structures of some depth.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	stock := map[int64][]any{}
	for id := range int64(5000) {
		for n := range id%30 + 10 {
			stock[id] = append(stock[id], map[string]any{"article": fmt.Sprintf("article %d", n), "n": float64(n), "price": 1.5 * float64(n)})
		}
	}
	find := func(_ context.Context, r *connect.Request[wrapperspb.Int64Value]) (*connect.Response[structpb.Struct], error) {
		s, err := structpb.NewStruct(map[string]any{"id": float64(r.Msg.Value), "lines": stock[r.Msg.Value]})
		if err != nil {
			return nil, err
		}
		return connect.NewResponse(s), nil
	}
	http.Handle("/stock.Stock/Find", connect.NewUnaryHandler("/stock.Stock/Find", find))
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
