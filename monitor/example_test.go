package monitor_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/isobar-go/isobar/monitor"
	"github.com/isobar-go/isobar/pool"
)

// A page with the runtime's figures and a pool's, and a flight recording of the
// seconds before the first long wait for a CPU.
func Example() {
	orders := pool.New(pool.Config[[64]int]{New: func() *[64]int { return new([64]int) }})
	m, err := monitor.New(monitor.Config{
		Sources: []monitor.Source{monitor.Of("orders", orders.Stats)},
		Alarms:  []monitor.Alarm{{Key: "/sched/latency/p99:seconds", Above: 0.5}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	mux := http.NewServeMux()
	mux.Handle("/debug/isobar/", m)

	srv := httptest.NewServer(mux)
	defer srv.Close()
	resp, err := http.Get(srv.URL + "/debug/isobar/history")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	history, err := io.ReadAll(resp.Body)
	fmt.Println(err, resp.StatusCode, strings.Contains(string(history), `"/pool/orders/hits:gets"`))
	// Output: <nil> 200 true
}
