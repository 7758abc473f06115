package tick_test

import (
	"bytes"
	"fmt"
	"io"

	"github.com/isobar-go/isobar/internal/lab/tick"
)

func Example() {
	var file bytes.Buffer
	w := tick.NewWriter(&file)
	w.Write(&tick.Tick{Symbol: "ACME", TimeNs: 1_767_346_200_000_000_000, Price: 101.5, Volume: 300, Bid: 101.25, Ask: 101.75, TradeID: 1})
	if err := w.Flush(); err != nil {
		fmt.Println(err)
		return
	}
	file.WriteString("ACME,2026-01-02T09:30:01Z,cheap,100,101.25,101.75,2\n")

	r, err := tick.NewReader(&file, tick.ReaderConfig{Name: "ticks.csv"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for {
		var t tick.Tick
		if err := r.Read(&t); err == io.EOF {
			break
		} else if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(t.Symbol, t.Price, t.Volume)
	}
	// Output:
	// ACME 101.5 300
	// tick: read: ticks.csv:3:27: price "cheap", want a decimal number of magnitude 1e18 or less (--skip-bad on skips such lines)
}
