package main

import (
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A coding is a content coding that the service knows.
type coding struct {
	name     string
	encoders sync.Pool // of encoder
}

// An encoder writes content in a coding.
type encoder interface {
	io.WriteCloser
	Flush() error
	Reset(w io.Writer)
}

// codings lists what the service knows, the preferred one first.
var codings = []*coding{
	{name: "zstd", encoders: sync.Pool{New: func() any {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), // it must write during calls only
			zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(256<<10))
		if err != nil {
			panic(err) // the options are constant
		}
		return e
	}}},
	{name: "gzip", encoders: sync.Pool{New: func() any { return gzip.NewWriter(nil) }}},
}

// to returns an encoder that writes to w. It is used again once it is closed.
func (k *coding) to(w io.Writer) encoder {
	e := k.encoders.Get().(encoder)
	e.Reset(w)
	return &lent{encoder: e, from: k}
}

// A lent encoder goes back to where it is from.
type lent struct {
	encoder
	from *coding
}

func (l *lent) Close() error {
	err := l.encoder.Close()
	l.encoder.Reset(nil)
	l.from.encoders.Put(l.encoder)
	l.encoder = nil // a use after Close panics
	return err
}

// negotiate returns the coding that a client prefers whose Accept-Encoding has
// that value (RFC 9110, section 12.5.3); nil for none, that is identity. Of codings
// with the same weight the service chooses. A member that is malformed counts for
// nothing.
func negotiate(accept string) *coding {
	var best *coding
	weight := make([]int, len(codings)) // in thousandths
	listed := make([]bool, len(codings))
	others, identity := 0, 0
	for member := range strings.SplitSeq(accept, ",") {
		name, parameters, _ := strings.Cut(member, ";")
		q, ok := quality(parameters)
		if !ok {
			continue
		}
		switch name = strings.ToLower(strings.Trim(name, " \t")); name {
		case "*":
			others = q
		case "identity":
			identity = q
		case "x-gzip":
			name = "gzip"
			fallthrough
		default:
			for i, k := range codings {
				if k.name == name {
					weight[i], listed[i] = q, true
				}
			}
		}
	}
	for i, k := range codings {
		if !listed[i] {
			weight[i] = others
		}
		if weight[i] > 0 && weight[i] >= identity {
			best, identity = k, weight[i]+1 // an equal one comes later
		}
	}
	return best
}

// quality returns the weight among the parameters of a member in thousandths, 1000
// if there is none (RFC 9110, section 12.4.2).
func quality(parameters string) (q int, ok bool) {
	parameters = strings.Trim(parameters, " \t")
	if parameters == "" {
		return 1000, true
	}
	if len(parameters) < 3 || parameters[0]|0x20 != 'q' || parameters[1] != '=' {
		return 0, false
	}
	whole, decimals, _ := strings.Cut(parameters[2:], ".")
	if len(whole) != 1 || len(decimals) > 3 {
		return 0, false
	}
	n, err := strconv.ParseUint(whole+(decimals + "000")[:3], 10, 16)
	return int(n), err == nil && n <= 1000
}
