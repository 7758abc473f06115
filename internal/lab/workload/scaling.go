package workload

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

func init() {
	Register(&Workload{
		Name:    "scaling",
		Summary: "work with one allocation profile on 1 to N goroutines: throughput by goroutines and GOGC",
		Params: WithBudget("0", "4s",
			Choice("kind", "json", "ecdsa: P-256 signatures; json: a document read and written; trees: binary trees built and "+
				"walked; sha: digests written as text; regexp: lines searched; mix: all in turn", "ecdsa", "json", "trees", "sha",
				"regexp", "mix"),
			Int("goroutines", "0", "number of goroutines, also above the number of CPUs; 0: GOMAXPROCS", 0, maxWorkers),
			Bytes("live", "0", "live heap besides the work, in objects of 128 bytes linked to trees", 0, 1<<40),
		),
		New: newScaling,
	})
}

// scaling is the study of seed document 002: signatures per second against the
// number of goroutines and GOGC. Signing allocates little today, so there are
// other profiles too. An operation is a profile's natural unit; operations of
// different profiles do not compare.
type scaling struct {
	Budgeted
	workers []scalingWorker
	step    func(w *scalingWorker) uint64
	store   *TreeStore // live heap; nil if there is none
}

// A scalingWorker belongs to its goroutine.
type scalingWorker struct {
	rng  mathrand.PCG // the source of its data
	turn int          // profile mix: the next profile
	_    [128]byte    // keeps neighbours off each other's cache lines
}

// A scalingProfile prepares the data that all goroutines read. It returns the
// operation, which returns a checksum of its work.
type scalingProfile func() func(w *scalingWorker) uint64

var scalingProfiles = map[string]scalingProfile{
	"ecdsa": scaleECDSA, "json": scaleJSON, "trees": scaleTrees, "sha": scaleSHA, "regexp": scaleRegexp,
}

func newScaling(env Env) (Task, error) {
	n := cmp.Or(env.Params.Int("goroutines"), runtime.GOMAXPROCS(0))
	t := &scaling{Budgeted: env.Budget, workers: make([]scalingWorker, n)}
	for i := range t.workers {
		t.workers[i].rng.Seed(env.Seed, uint64(i))
	}
	profile, ok := scalingProfiles[env.Params.String("kind")]
	if !ok {
		profile = scaleMix
	}
	t.step = profile()
	t.store = NewLiveHeap(env.Params.Bytes("live"), mathrand.New(mathrand.NewPCG(env.Seed, 0x7363616c)))
	return t, nil
}

func (t *scaling) Workers() int { return len(t.workers) }

func (t *scaling) Loop(worker int, n int64) (sum uint64) {
	for range n {
		sum += t.step(&t.workers[worker])
	}
	return sum
}

// Report adds the throughput of each goroutine.
func (t *scaling) Report(rec *cell.Record) {
	rec.Set("/scaling/each:ops/s", rec.Metrics[cell.Throughput]/float64(len(t.workers)))
}

// Close keeps the live heap alive until here.
func (t *scaling) Close() error {
	runtime.KeepAlive(t.store)
	return nil
}

// message is 64 random bytes.
func (w *scalingWorker) message() (m [64]byte) {
	for i := 0; i < len(m); i += 8 {
		binary.LittleEndian.PutUint64(m[i:], w.rng.Uint64())
	}
	return m
}

// scaleECDSA signs a digest, like the document.
func scaleECDSA() func(w *scalingWorker) uint64 {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic("workload: scaling: " + err.Error())
	}
	return func(w *scalingWorker) uint64 {
		message := w.message()
		digest := sha256.Sum256(message[:])
		signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
		if err != nil || len(signature) < 60 { // about 71; shorter by chance once in 2^60
			panic(fmt.Sprintf("workload: scaling: a signature of %d bytes: %v", len(signature), err))
		}
		return binary.LittleEndian.Uint64(digest[:])
	}
}

// order is the document of profile json.
type order struct {
	ID       uint64            `json:"id"`
	Customer string            `json:"customer"`
	Lines    []orderLine       `json:"lines"`
	Tags     map[string]string `json:"tags"`
}

type orderLine struct {
	Item     string  `json:"item"`
	Quantity int     `json:"quantity"`
	Price    float64 `json:"price"`
}

func (o order) encoded() []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic("workload: scaling: " + err.Error())
	}
	return b
}

// scaleJSON reads an order of about 1 KB and writes it again.
func scaleJSON() func(w *scalingWorker) uint64 {
	o := order{Customer: "Hypatia of Alexandria",
		Tags: map[string]string{"region": "south", "channel": "post", "note": strings.Repeat("x", 100)}}
	for i := range 12 {
		o.Lines = append(o.Lines, orderLine{Item: "article " + strconv.Itoa(i), Quantity: i + 1, Price: 1.25 * float64(i)})
	}
	document := o.encoded()
	return func(w *scalingWorker) uint64 {
		var o order
		if err := json.Unmarshal(document, &o); err != nil {
			panic("workload: scaling: " + err.Error())
		}
		o.ID = w.rng.Uint64()
		return o.ID + uint64(len(o.encoded()))
	}
}

// scaleTrees builds a tree of 1,023 nodes and walks it.
func scaleTrees() func(w *scalingWorker) uint64 {
	return func(w *scalingWorker) uint64 {
		return growPointers(0, 1023, w.rng.Uint64()).sum()
	}
}

// scaleSHA digests a message and writes the digest as text, 16 times.
func scaleSHA() func(w *scalingWorker) uint64 {
	return func(w *scalingWorker) (sum uint64) {
		for range 16 {
			h := sha256.New()
			message := w.message()
			h.Write(message[:])
			text := hex.EncodeToString(h.Sum(nil))
			sum += uint64(text[0]) + uint64(text[63])<<8
		}
		return sum
	}
}

var logLine = regexp.MustCompile(`(\w+)=("[^"]*"|\d+)`)

// scaleRegexp finds the pairs of a log line.
func scaleRegexp() func(w *scalingWorker) uint64 {
	return func(w *scalingWorker) (sum uint64) {
		line := `level="info" msg="request served" status=200 bytes=` + strconv.FormatUint(w.rng.Uint64()%1e6, 10) +
			` path="/a/b/c" took=1234`
		for _, pair := range logLine.FindAllStringSubmatch(line, -1) {
			sum = sum*31 + uint64(len(pair[1])) + uint64(pair[2][0])
		}
		return sum
	}
}

// scaleMix runs the others in turn.
func scaleMix() func(w *scalingWorker) uint64 {
	var steps []func(w *scalingWorker) uint64
	for _, name := range slices.Sorted(maps.Keys(scalingProfiles)) {
		steps = append(steps, scalingProfiles[name]())
	}
	return func(w *scalingWorker) uint64 {
		w.turn = (w.turn + 1) % len(steps)
		return steps[w.turn](w)
	}
}
