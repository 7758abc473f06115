package advice

import (
	"fmt"
	"strings"

	"github.com/isobar-go/isobar/advise/life"
)

// An alternative is what to give a function of the library, or to use in its
// place, so that it need not allocate.
type alternative struct {
	callee string // how its short name begins
	check  string
	text   string
}

// alternatives of the standard library, the longer names first.
var alternatives = []alternative{
	{"fmt.Sprint", "sprintf", "append to a []byte with strconv and fmt.Append; a concatenation for texts alone"},
	{"fmt.Errorf", "errorsnew", "return a value of an error type, and format where it is printed"},
	{"fmt.Append", "sprintf", "use strconv.Append for numbers and append for texts: they box nothing"},
	{"fmt.F", "sprintf", "write the pieces with strconv.Append to a buffer: nothing is boxed"},
	{"fmt.Sscan", "sprintf", "parse with strconv and strings.Cut"},
	{"errors.New", "errorsnew", "make it once, as a package variable"},
	{"strings.Split", "resultslice", "iterate with strings.SplitSeq, or strings.Cut: they make no slice"},
	{"strings.Fields", "resultslice", "iterate with strings.FieldsSeq: it makes no slice"},
	{"bytes.Split", "resultslice", "iterate with bytes.SplitSeq, or bytes.Cut: they make no slice"},
	{"bytes.Fields", "resultslice", "iterate with bytes.FieldsSeq: it makes no slice"},
	{"strings.Builder.", "prealloc", "call Grow with the size first, or append to a []byte that is used again"},
	{"bytes.Buffer.", "bufferpercall", "keep the buffer and Reset it, or Grow it to the size first"},
	{"bytes.NewBuffer", "bufferpercall", "keep one and Reset it"},
	{"bytes.NewReader", "bufferpercall", "keep one and Reset it to the next bytes"},
	{"strings.NewReader", "bufferpercall", "keep one and Reset it to the next text"},
	{"bufio.New", "bufferpercall", "keep one and Reset it to the next reader or writer"},
	{"strings.Replace", "", "write to a buffer with Replacer.WriteString, or test with strings.Contains first"},
	{"strings.To", "", "compare with strings.EqualFold, or convert once and keep the result"},
	{"strings.Map", "", "test first whether anything changes, or append to a []byte"},
	{"strings.Repeat", "", "keep the text in a package variable, or write it piece by piece"},
	{"strings.Join", "", "write the pieces to the destination one after another"},
	{"strconv.Quote", "sprintf", "use strconv.AppendQuote with a []byte that is used again"},
	{"strconv.Format", "sprintf", "use strconv.Append… with a []byte that is used again"},
	{"strconv.Itoa", "sprintf", "use strconv.AppendInt with a []byte that is used again"},
	{"time.Time.Format", "sprintf", "use AppendFormat with a []byte that is used again"},
	{"time.Time.String", "sprintf", "use AppendFormat with a []byte that is used again"},
	{"time.After", "timeafter", "make one time.Timer and Reset it"},
	{"time.NewTimer", "timeafter", "keep the timer and Reset it"},
	{"json.Marshal", "jsonloop", "write with a json.Encoder that is kept, or generated code"},
	{"json.Unmarshal", "jsonloop", "decode into a typed value that is used again, or generated code"},
	{"json.NewDecoder", "jsonloop", "decode with json.Unmarshal what is in memory already"},
	{"json.NewEncoder", "jsonloop", "make it once for the writer"},
	{"regexp.Compile", "regexpcompile", "compile it once, in a package variable"},
	{"regexp.MustCompile", "regexpcompile", "compile it once, in a package variable"},
	{"regexp.Regexp.Find", "", "use the Index forms, which need no copies, or code of its own for a simple pattern"},
	{"regexp.Regexp.Replace", "", "use the bytes forms with a buffer, or code of its own for a simple pattern"},
	{"regexp.", "", "replace a simple pattern by code of its own"},
	{"sort.Slice", "boxing", "use slices.SortFunc: it neither boxes nor reflects"},
	{"sort.", "boxing", "use slices.SortFunc: it neither boxes nor reflects"},
	{"io.ReadAll", "bufferpercall", "read into a buffer that is kept; bytes.Buffer.ReadFrom with Grow, where the size " +
		"is known"},
	{"io.Copy", "bufferpercall", "use io.CopyBuffer with a buffer that is kept"},
	{"os.ReadFile", "bufferpercall", "read into a buffer that is kept, by os.Open and Read"},
	{"reflect.", "", "code for the types that occur often, without reflection"},
	{"binary.Write", "boxing", "use binary.Append or ByteOrder.PutUint: they box nothing"},
	{"binary.Read", "boxing", "use ByteOrder.Uint: it boxes nothing"},
	{"base64.Encoding.EncodeToString", "", "use AppendEncode with a []byte that is used again"},
	{"base64.Encoding.DecodeString", "", "use AppendDecode with a []byte that is used again"},
	{"hex.", "", "use hex.AppendEncode and AppendDecode with a []byte that is used again"},
	{"gzip.New", "bufferpercall", "keep one and Reset it"},
	{"flate.New", "bufferpercall", "keep one and Reset it"},
	{"zlib.New", "bufferpercall", "keep one and Reset it"},
	{"sha", "bufferpercall", "keep one hash and Reset it; the Sum functions return an array"},
	{"md5.New", "bufferpercall", "keep one hash and Reset it; md5.Sum returns an array"},
	{"hmac.New", "bufferpercall", "keep one and Reset it"},
	{"big.Int.", "", "keep the big.Ints and let results go into them: z.Op(x, y) uses the memory of z"},
	{"big.nat.", "", "keep the big.Ints and let results go into them: z.Op(x, y) uses the memory of z"},
	{"big.Float.", "", "keep the big.Floats and let results go into them"},
	{"big.New", "", "keep the big.Ints and set them with SetInt64"},
	{"maps.Keys", "", "range over the map itself"},
	{"slices.Collect", "prealloc", "append to a slice that is made with the size"},
	{"slices.Clone", "", "append to a slice that is used again"},
	{"slices.Grow", "", "keep the slice for the next time"},
	{"bytes.Clone", "", "append to a slice that is used again"},
	{"context.With", "", "make it once for the request, not for each call"},
	{"sync.Pool.Get", "", "the pool was empty: its objects were not put back, or the collector took them"},
	{"url.Parse", "", "parse it once and keep the result"},
	{"net/http.Header", "", "set canonical names; keep the slice of values"},
	{"bufio.Scanner.Text", "stringconv", "use Bytes where the text is only read"},
	{"bufio.Reader.ReadString", "stringconv", "use ReadSlice where the text is only read"},
	{"encoding/", "", "reuse the decoder or encoder, and what it decodes into"},
	{"xml.", "", "reuse the decoder or encoder, and what it decodes into"},
	{"gob.", "", "reuse the decoder or encoder, and what it decodes into"},
	{"template.", "", "execute into a buffer that is kept; functions that return typed values are boxed"},
	{"runtime.", "", "it is the runtime's own: call it less often"},
}

// call judges memory that a callee outside of the packages makes.
func (k *subject) call() {
	callee := k.e.Callee
	if callee == "" {
		callee = k.e.What
	}
	k.e.Verdict = Outside
	k.e.Remedy = fmt.Sprintf("%s makes it", callee)
	alt := alternativeTo(callee)
	if alt == nil {
		alt = alternativeTo(shortName(k.c.leaf))
		if alt != nil && !strings.HasPrefix(alt.callee, "bytes.Buffer") && !strings.HasPrefix(alt.callee, "strings.Builder") {
			alt = nil
		}
	}
	if alt != nil {
		k.e.Check, k.e.Remedy = alt.check, fmt.Sprintf("%s: %s", callee, alt.text)
	}
	switch {
	case k.life.kind == kept:
		k.e.Remedy += "; " + k.life.holder.String() + " keeps the result"
	case k.life.kind == escaped:
		k.e.Remedy += "; " + k.life.in + " returns the result"
	case k.dies() && alt == nil && k.s != nil && k.s.Kind == life.Call:
		k.e.Remedy += "; nobody needs it after " + k.life.in + ": call it less often, or with memory that is used again"
	}
	k.e.Decides = k.life.where
}

func alternativeTo(callee string) *alternative {
	for i := range alternatives {
		if strings.HasPrefix(callee, alternatives[i].callee) {
			return &alternatives[i]
		}
	}
	return nil
}
