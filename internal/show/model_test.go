package show_test

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/latency"
)

var inf = math.Inf(1)

// A model is what a configuration would measure without disturbance.
type model struct {
	opNs              float64
	open              float64 // operations due each second; 0 for a closed loop
	opBytes, opAllocs float64
	tail              float64 // how heavy the tail of latency is
	heap              float64 // largest heap in bytes
	cycles            float64 // per second
	share             float64 // of CPU time used by the GC
}

const (
	phase   = time.Second
	samples = 3000
)

// record draws one record from the model.
func (m model) record(c cell.Cell, rng *rand.Rand) *cell.Record {
	noise := func(share float64) float64 { return 1 + share*rng.NormFloat64() }
	rec := &cell.Record{Cell: c, Started: time.Date(2026, 3, 14, 9, 27, c.Index, 0, time.UTC), GoVersion: "go1.26.8"}
	rec.Noise = cell.Noise{Steal: 0.004 * rng.ExpFloat64(), CPUPressure: 0.02 * rng.ExpFloat64(), MemoryPressure: 0,
		OtherCPU: 0.03 * rng.ExpFloat64()}
	if rec.Noise.Steal > 0.015 {
		rec.Warn("steal", "the hypervisor gave more than 1.5 %% of CPU time to others: times may be too long")
	}
	cycles := math.Round(m.cycles * noise(0.05))
	if m.open > 0 {
		rec.Set(cell.Throughput, m.open*noise(0.0004))
		rec.Set(cell.MaxBacklog, math.Round(40*math.Exp(0.2*rng.NormFloat64())))
	} else {
		rec.Set(cell.OpTime, m.opNs*noise(0.015))
		rec.Set(cell.OpCPU, m.opNs*1.2*noise(0.015))
		rec.Set(cell.Throughput, 1e9/rec.Metrics[cell.OpTime])
	}
	rec.Set(cell.OpBytes, m.opBytes)
	rec.Set(cell.OpAllocs, m.opAllocs)
	rec.Set(cell.HeapMax, m.heap*noise(0.02))
	rec.Set(cell.RSSPeak, m.heap*1.2*noise(0.02)+9e6)
	rec.Set(cell.MinorFaults, math.Round(m.heap/4096*noise(0.01))+2200)
	rec.Set(cell.GCCycles, cycles)
	rec.Set(cell.GCCPUShare, m.share*noise(0.04))
	m.latency(rec, rng)
	m.pauses(rec, int(cycles), rng)
	m.timeline(rec, int(cycles))
	return rec
}

// latency draws service times with a heavy tail; response times of an open loop
// include waiting for earlier operations.
func (m model) latency(rec *cell.Record, rng *rand.Rand) {
	var service, response latency.Histogram
	var behind float64
	for range samples {
		ns := m.opNs * math.Exp(0.12*rng.NormFloat64())
		if rng.Float64() < 0.015 {
			// A collection in progress, or the scheduler: up to a few hundred µs.
			ns += min(m.opNs*math.Exp(m.tail*rng.ExpFloat64()*(0.4+m.share*2)), 3e4*(1+20*m.share)*rng.ExpFloat64())
		}
		service.Record(time.Duration(ns))
		if m.open > 0 {
			behind = max(0, behind+ns-1e9/m.open)
			response.Record(time.Duration(ns + behind))
		}
	}
	rec.Latency = map[string][]byte{cell.HistService: encode(&service)}
	if m.open > 0 {
		rec.Latency[cell.HistResponse] = encode(&response)
	}
}

func encode(h *latency.Histogram) []byte {
	data, err := h.MarshalBinary()
	if err != nil {
		panic(err) // a histogram that was just recorded can be encoded
	}
	return data
}

// pauses draws two stop-the-world pauses per cycle and sorts them into buckets
// that double in width.
func (m model) pauses(rec *cell.Record, cycles int, rng *rand.Rand) {
	count := map[int]uint64{}
	var total, longest, last float64
	for i := range 2 * cycles {
		last = 18e-6 * math.Exp(0.7*rng.NormFloat64())
		total, longest = total+last, max(longest, last)
		count[int(math.Floor(math.Log2(last*1e9)*2))]++
		at := float64(phase) * (float64(i/2) + 0.8 + 0.15*float64(i%2)) / float64(cycles)
		rec.Pauses = append(rec.Pauses, cell.Pause{AtNs: int64(at), Ns: int64(last * 1e9)})
	}
	rec.Set(cell.GCPauseTotal, total)
	rec.Set(cell.GCPauseLast, last)
	rec.Set(cell.GCPauseMax, longest)
	var b cell.Buckets
	for i := range 80 {
		if n := count[i]; n > 0 {
			b.Lower, b.Upper = append(b.Lower, math.Exp2(float64(i)/2)/1e9), append(b.Upper, math.Exp2(float64(i+1)/2)/1e9)
			b.Count = append(b.Count, n)
		}
	}
	rec.Buckets = map[string]cell.Buckets{cell.HistPause: b}
}

// timeline is a saw-tooth between the live heap and the goal.
func (m model) timeline(rec *cell.Record, cycles int) {
	const points = 1000
	live := m.heap * 0.5
	for i := range points {
		t := float64(i) / points
		position := t
		if cycles > 0 {
			_, position = math.Modf(t * float64(cycles))
		}
		warm := live * min(1, 0.3+3*t)
		heap, goal := warm+(m.heap-live)*position, warm*2
		if cycles == 0 {
			heap, goal = m.heap*t, 0
		}
		line := &rec.Timeline
		line.AtNs = append(line.AtNs, int64(t*float64(phase)))
		line.HeapBytes = append(line.HeapBytes, int64(heap))
		line.GoalBytes = append(line.GoalBytes, int64(goal))
		line.Cycles = append(line.Cycles, int64(t*float64(cycles)))
	}
}
