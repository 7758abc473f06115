package workload

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	mathrand "math/rand/v2"
	"runtime"
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
				"walked", "ecdsa", "json", "trees"),
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
	step    func(w *scalingWorker) uint64 // an operation; returns a checksum of its work
	store   *TreeStore                    // live heap; nil if there is none
}

// A scalingWorker belongs to its goroutine.
type scalingWorker struct {
	rng mathrand.PCG // the source of its data
	_   [128]byte    // keeps neighbours off each other's cache lines
}

func newScaling(env Env) (Task, error) {
	n := cmp.Or(env.Params.Int("goroutines"), runtime.GOMAXPROCS(0))
	t := &scaling{Budgeted: env.Budget, workers: make([]scalingWorker, n)}
	for i := range t.workers {
		t.workers[i].rng.Seed(env.Seed, uint64(i))
	}
	switch env.Params.String("kind") {
	case "ecdsa":
		t.step = scaleECDSA()
	case "json":
		t.step = scaleJSON()
	case "trees":
		t.step = scaleTree
	}
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

// scaleECDSA signs the digest of 64 random bytes, like the document.
func scaleECDSA() func(w *scalingWorker) uint64 {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic("workload: scaling: " + err.Error())
	}
	return func(w *scalingWorker) uint64 {
		var message [64]byte
		for i := 0; i < len(message); i += 8 {
			binary.LittleEndian.PutUint64(message[i:], w.rng.Uint64())
		}
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

// scaleTree builds a tree of 1,023 nodes and walks it.
func scaleTree(w *scalingWorker) uint64 { return growPointers(0, 1023, w.rng.Uint64()).sum() }
