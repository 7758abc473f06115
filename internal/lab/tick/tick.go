// Package tick holds market ticks: what one is, how a file of them is read and
// written, and a generator of random ones.
//
// Files are CSV, plain or compressed by gzip. The first line names the columns
// symbol, timestamp, price, volume, bid, ask and trade_id, in any order and
// either case; others are ignored. Timestamps are RFC 3339 with up to nine
// decimals, or nanoseconds since 1970. A field may be quoted as RFC 4180 has
// it, but a record ends with its line, and every line with a newline: a last
// line without one is taken for a truncated file.
//
// [Reader] is strict and streams: it holds one line and one copy of every
// symbol, whatever the size of the file. [Ahead] reads in a goroutine of its
// own, so that the time for it does not fall between the operations of whoever
// consumes the ticks. [Writer] writes what Reader reads back identically.
// [Walk] makes ticks up, and [Generate] a file of them.
//
// No type of this package is safe for use by several goroutines at once.
package tick

import "math"

// A Tick is one trade of one symbol. The zero value is an empty tick; ticks
// may be copied and compared.
type Tick struct {
	Symbol  string
	TimeNs  int64 // nanoseconds since the Unix epoch
	Price   float64
	Volume  int64
	Bid     float64
	Ask     float64
	TradeID int64
}

// The bounds of a tick. With them, sums of price times volume stay finite
// whatever the input, and a volume is exact as a float64.
const (
	MaxSymbolBytes = 64
	MaxSymbols     = 1 << 20 // different ones in a file
	MaxVolume      = 1 << 53
	MaxPrice       = 1e18 // magnitude; prices may be negative
)

// The columns, in the order that Writer has them.
const (
	colSymbol = iota
	colTimestamp
	colPrice
	colVolume
	colBid
	colAsk
	colTradeID
	numColumns
)

var columns = [numColumns]string{"symbol", "timestamp", "price", "volume", "bid", "ask", "trade_id"}

// wants says for each column what a field must be.
var wants = [numColumns]string{
	"want 1 to 64 bytes without control characters",
	"want RFC 3339 such as 2026-01-02T15:04:05.999Z, or nanoseconds since 1970",
	"want a decimal number of magnitude 1e18 or less",
	"want a whole number from 0 to 2^53",
	"want a decimal number of magnitude 1e18 or less",
	"want a decimal number of magnitude 1e18 or less",
	"want a whole number of 64 bits",
}

func validSymbol[S string | []byte](s S) bool {
	if len(s) == 0 || len(s) > MaxSymbolBytes {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

func validPrice(f float64) bool { return math.Abs(f) <= MaxPrice } // false for NaN

func validVolume(n int64) bool { return n >= 0 && n <= MaxVolume }
