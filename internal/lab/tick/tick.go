// Package tick defines market ticks, reads and writes files of them, and
// generates random ones.
//
// Files are CSV, plain or gzip-compressed. The first line names the columns
// symbol, timestamp, price, volume, bid, ask and trade_id, in any order and
// either case; others are ignored. Timestamps are RFC 3339 with up to nine
// decimals, or nanoseconds since 1970. A field may be quoted as in RFC 4180,
// but may not contain a newline. Every line ends with a newline: if the last
// does not, the file counts as truncated.
//
// [Reader] is strict and streams: it holds one line and one copy of every
// symbol, whatever the size of the file. [Ahead] reads in a goroutine of its
// own, so that reading does not delay the consumer's operations. [Writer]
// writes what Reader reads back identically. [Walk] generates ticks, and
// [Generate] a file of them.
//
// No type of this package is safe for concurrent use.
package tick

import (
	"math"
	"slices"
)

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

// The bounds of a tick keep sums of price times volume finite for any input, and a
// volume exact as a float64.
const (
	MaxSymbolBytes = 64
	MaxSymbols     = 1 << 20 // per file
	MaxVolume      = 1 << 53
	MaxPrice       = 1e18 // magnitude; prices may be negative
)

// The columns, in the order in which Writer writes them.
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

// wants says which values each column accepts.
var wants = [numColumns]string{
	"want 1 to 64 bytes without control characters",
	"want RFC 3339 such as 2026-01-02T15:04:05.999Z, or nanoseconds since 1970",
	"want a decimal number of magnitude 1e18 or less",
	"want a whole number from 0 to 2^53",
	"want a decimal number of magnitude 1e18 or less",
	"want a decimal number of magnitude 1e18 or less",
	"want a whole number of 64 bits",
}

func validSymbol(s []byte) bool {
	return len(s) > 0 && len(s) <= MaxSymbolBytes &&
		!slices.ContainsFunc(s, func(c byte) bool { return c < ' ' || c == 0x7f })
}

func validPrice(f float64) bool { return math.Abs(f) <= MaxPrice } // false for NaN

func validVolume(n int64) bool { return n >= 0 && n <= MaxVolume }
