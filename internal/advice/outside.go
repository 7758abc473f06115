package advice

import (
	"fmt"
	"strings"
)

// An alternative is what to give a function of the library, or to use in its
// place, so that it need not allocate.
type alternative struct {
	callee string // how its short name begins
	check  string
	text   string
	kept   string // what holds where somebody keeps the result; "" where nothing does
}

// Where somebody keeps the result of a call.
const (
	always = "=" // what holds where nobody does
	joined = "the text is needed, what formats it is not: a concatenation with strconv makes nothing else"
	grow   = "call Grow with the size first: what it outgrows is thrown away"
)

// alternatives of the standard library, the longer names first.
var alternatives = []alternative{
	{"fmt.Sprint", "sprintf", "append to a []byte with strconv and fmt.Append; a concatenation for texts alone", joined},
	{"fmt.Errorf", "errorsnew", "return a value of an error type, and format where it is printed", always},
	{"fmt.Append", "sprintf", "use strconv.Append for numbers and append for texts: they box nothing", always},
	{"fmt.F", "sprintf", "write the pieces with strconv.Append to a buffer: nothing is boxed", always},
	{"fmt.Sscan", "sprintf", "parse with strconv and strings.Cut", always},
	{"errors.New", "errorsnew", "make it once, as a package variable", always},
	{"strings.Split", "resultslice", "iterate with strings.SplitSeq, or strings.Cut: they make no slice", ""},
	{"strings.Fields", "resultslice", "iterate with strings.FieldsSeq: it makes no slice", ""},
	{"bytes.Split", "resultslice", "iterate with bytes.SplitSeq, or bytes.Cut: they make no slice", ""},
	{"bytes.Fields", "resultslice", "iterate with bytes.FieldsSeq: it makes no slice", ""},
	{"strings.Builder.Grow", "", "it is the text itself: append to a []byte that is used again", ""},
	{"strings.Builder.", "prealloc", "call Grow with the size first, or append to a []byte that is used again", grow},
	{"bytes.Buffer.Grow", "bufferpercall", "keep the buffer and Reset it", ""},
	{"bytes.Buffer.", "bufferpercall", "keep the buffer and Reset it, or Grow it to the size first", grow},
	{"bytes.NewBuffer", "bufferpercall", "keep one and Reset it", ""},
	{"bytes.NewReader", "bufferpercall", "keep one and Reset it to the next bytes", ""},
	{"strings.NewReader", "bufferpercall", "keep one and Reset it to the next text", ""},
	{"bufio.New", "bufferpercall", "keep one and Reset it to the next reader or writer", ""},
	{"strings.Replace", "", "write to a buffer with Replacer.WriteString, or test with strings.Contains first", ""},
	{"strings.To", "", "compare with strings.EqualFold, or convert once and keep the result", ""},
	{"strings.Map", "", "test first whether anything changes, or append to a []byte", ""},
	{"strings.Repeat", "", "keep the text in a package variable, or write it piece by piece", ""},
	{"strings.Join", "", "write the pieces to the destination one after another", ""},
	{"strconv.Quote", "sprintf", "use strconv.AppendQuote with a []byte that is used again", ""},
	{"strconv.Format", "sprintf", "use strconv.Append… with a []byte that is used again", ""},
	{"strconv.Itoa", "sprintf", "use strconv.AppendInt with a []byte that is used again", ""},
	{"time.Time.Format", "sprintf", "use AppendFormat with a []byte that is used again", ""},
	{"time.Time.String", "sprintf", "use AppendFormat with a []byte that is used again", ""},
	{"time.After", "timeafter", "make one time.Timer and Reset it", always},
	{"time.NewTimer", "timeafter", "keep the timer and Reset it", ""},
	{"json.Marshal", "jsonloop", "write with a json.Encoder that is kept, or generated code", ""},
	{"json.Unmarshal", "jsonloop", "decode into a typed value that is used again, or generated code", ""},
	{"json.NewDecoder", "jsonloop", "decode with json.Unmarshal what is in memory already", always},
	{"json.NewEncoder", "jsonloop", "make it once for the writer", always},
	{"regexp.Compile", "regexpcompile", "compile it once, in a package variable", always},
	{"regexp.MustCompile", "regexpcompile", "compile it once, in a package variable", always},
	{"regexp.Regexp.Find", "", "use the Index forms, which need no copies, or code of its own for a simple pattern", ""},
	{"regexp.Regexp.Replace", "", "use the bytes forms with a buffer, or code of its own for a simple pattern", ""},
	{"regexp.", "", "replace a simple pattern by code of its own", always},
	{"sort.Slice", "boxing", "use slices.SortFunc: it neither boxes nor reflects", always},
	{"sort.", "boxing", "use slices.SortFunc: it neither boxes nor reflects", always},
	{"io.ReadAll", "bufferpercall", "read into a buffer that is kept; bytes.Buffer.ReadFrom with Grow, where the size " +
		"is known", "where the size is known, read into a slice of that size: what ReadAll outgrows is thrown away"},
	{"io.Copy", "bufferpercall", "use io.CopyBuffer with a buffer that is kept", ""},
	{"os.ReadFile", "bufferpercall", "read into a buffer that is kept, by os.Open and Read", ""},
	{"reflect.", "", "code for the types that occur often, without reflection", always},
	{"binary.Write", "boxing", "use binary.Append or ByteOrder.PutUint: they box nothing", always},
	{"binary.Read", "boxing", "use ByteOrder.Uint: it boxes nothing", always},
	{"base64.Encoding.EncodeToString", "", "use AppendEncode with a []byte that is used again", ""},
	{"base64.Encoding.DecodeString", "", "use AppendDecode with a []byte that is used again", ""},
	{"hex.", "", "use hex.AppendEncode and AppendDecode with a []byte that is used again", ""},
	{"gzip.New", "bufferpercall", "keep one and Reset it", ""},
	{"flate.New", "bufferpercall", "keep one and Reset it", ""},
	{"zlib.New", "bufferpercall", "keep one and Reset it", ""},
	{"sha", "bufferpercall", "keep one hash and Reset it; the Sum functions return an array", ""},
	{"md5.New", "bufferpercall", "keep one hash and Reset it; md5.Sum returns an array", ""},
	{"hmac.New", "bufferpercall", "keep one and Reset it", ""},
	{"big.New", "", "keep the big.Ints and set them with SetInt64", ""},
	{"maps.Keys", "", "range over the map itself", ""},
	{"slices.Collect", "prealloc", "append to a slice that is made with the size", always},
	{"slices.Clone", "", "append to a slice that is used again", ""},
	{"slices.Grow", "", "keep the slice for the next time", ""},
	{"bytes.Clone", "", "append to a slice that is used again", ""},
	{"context.With", "", "make it once for the request, not for each call", always},
	{"sync.Pool.Get", "", "the pool was empty: its objects were not put back, or the collector took them", always},
	{"url.Parse", "", "parse it once and keep the result", always},
	{"net/http.Header", "", "set canonical names; keep the slice of values", always},
	{"bufio.Scanner.Text", "stringconv", "use Bytes where the text is only read", ""},
	{"bufio.Reader.ReadString", "stringconv", "use ReadSlice where the text is only read", ""},
	{"encoding/", "", "reuse the decoder or encoder, and what it decodes into", ""},
	{"xml.", "", "reuse the decoder or encoder, and what it decodes into", ""},
	{"gob.", "", "reuse the decoder or encoder, and what it decodes into", ""},
	{"template.", "", "execute into a buffer that is kept; functions that return typed values are boxed", always},
	{"runtime.", "", "it is the runtime's own: call it less often", always},
}

// call judges memory that a callee outside of the packages makes.
func (k *subject) call() {
	callee := k.e.Callee
	if callee == "" {
		callee = k.e.What
	}
	k.e.Verdict, k.e.Decides = Outside, k.life.where
	k.e.Remedy = fmt.Sprintf("%s makes it", callee)
	alt := alternativeTo(callee)
	held := !k.dies()
	// what the callee needs for itself is saved where something else takes its place
	k.idle = k.life.inside && (alt == nil || alt.kept != always && alt.kept != joined)
	switch {
	case alt == nil && growsBuffer(k.c.leaf) && !k.life.inside:
		k.e.Check = "bufferpercall"
		k.e.Remedy = callee + " writes to a buffer, which grows: keep that and Reset it, or Grow it to the size first"
	case held && (alt == nil || alt.kept == ""):
		k.stays()
		k.e.Remedy = callee + " makes it; " + k.e.Remedy
	case held && alt.kept != always:
		k.e.Check, k.e.Remedy = alt.check, callee+": "+alt.kept
	case alt != nil:
		k.e.Check, k.e.Remedy = alt.check, callee+": "+alt.text
		if alt.kept != always {
			k.conditions()
		}
	case k.life.kind == died:
		k.e.Remedy += "; nobody needs it after " + k.life.in + ": call it less often, or with memory that is used again"
	}
}

// alternativeTo is what to do in place of a call; nil for none.
func alternativeTo(callee string) *alternative {
	for i := range alternatives {
		if strings.HasPrefix(callee, alternatives[i].callee) {
			return &alternatives[i]
		}
	}
	return nil
}
