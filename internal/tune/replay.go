package tune

import (
	"math"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// Rules of the runtime's pacer (runtime/mgcpacer.go, Go 1.19 to 1.26).
const (
	minimumHeap  = 4 * mib // the goal is at least this times GOGC/100
	runwayShare  = 0.297   // marking begins so late that at most this share of the room is allocated meanwhile
	latestShare  = 0.95    // and never later than at this share of the room
	limitReserve = 0.03    // share of what GOMEMLIMIT leaves to the heap that is held back, at least 1 MiB
	// maxGCShare is the share of CPU time at which the runtime's limiter stops assists.
	maxGCShare  = 0.5
	leastRoom   = mib     // allocated per cycle if the limit leaves no room: threads take memory in blocks
	maxReplay   = 1 << 20 // cycles; more mean that the collector never rests
	maxStarving = 1 << 12 // cycles without room, after which the rest of the life is the same
)

// A replay is the work of the collector in one life of the program.
type replay struct {
	cycles   int     // without forced ones
	seconds  float64 // CPU
	peak     float64 // heap, bytes
	marking  float64 // bytes allocated while marking
	starving bool    // the limit leaves most cycles no room above live data
	// more is how many more bytes count to this limit beside the heap than to a usual one. strain
	// is the change of the logarithm of the seconds per standard deviation of those bytes: large
	// if the limit leaves hardly any room.
	more, strain float64
}

// percentGoal is the heap goal that GOGC sets, in bytes; infinite where it is off.
func percentGoal(percent int, marked, roots float64) float64 {
	if percent < 0 {
		return math.Inf(1)
	}
	ratio := float64(percent) / 100
	return max(minimumHeap*ratio, marked+(marked+roots)*ratio)
}

// limitGoal is the highest heap goal, in bytes, if GOMEMLIMIT leaves the given bytes to the heap.
func limitGoal(left float64) float64 { return left - max(limitReserve*left, mib) }

// beyondHeap returns the bytes that count to GOMEMLIMIT beside the heap's objects, derived from a
// goal that the limit set. gctrace rounds half a MiB away on average.
func beyondHeap(limit, goal float64) float64 {
	goal += mib / 2
	return limit - max(goal/(1-limitReserve), goal+mib)
}

// run replays the life of a process under a setting. other are the bytes beside the
// heap that count to GOMEMLIMIT.
func (t *trajectory) run(gc cell.GC, other float64) replay {
	var r replay
	var allocated, marked, live, roots float64
	forced := t.forced
	starved := 0 // cycles without room
	for n := 0; n < maxReplay && !(r.starving && n > maxStarving); n++ {
		goal := min(percentGoal(gc.Percent, marked, roots), t.total*4) // t.total*4 is out of reach
		room := goal - marked
		if most := limitGoal(float64(gc.LimitBytes) - other); gc.LimitBytes > 0 && most < goal {
			room = most - marked
			if least := max(0.005*marked, leastRoom); room < least {
				starved++
				room = least
			}
		}
		r.starving = starved > (n+1)/2
		// The start of marking depends on how long it will take.
		live, roots = t.at(allocated + room)
		cost := t.cost(live + roots)
		black := min(t.floating*cost, runwayShare*room)
		begin := min(room-black, max(latestShare*room, room-minimumHeap))
		if len(forced) > 0 && forced[0].allocated <= allocated+begin {
			f := forced[0]
			forced = forced[1:]
			fresh := max(f.allocated-allocated, 0)
			r.peak = max(r.peak, marked+fresh+f.black)
			r.seconds += f.seconds
			live, _ = t.at(f.allocated)
			allocated += fresh + f.black
			marked = live + f.black
			continue
		}
		if allocated+begin >= t.total {
			r.peak = max(r.peak, marked+t.total-allocated)
			return r
		}
		r.peak = max(r.peak, marked+begin+black)
		r.seconds += cost
		r.cycles++
		r.marking += black
		live, _ = t.at(allocated + begin)
		allocated += begin + black
		marked = live + black
	}
	r.starving = true
	r.seconds *= max(t.total/max(allocated, 1), 1)
	return r
}

// replayAll replays all processes of a pilot, as if they ran at the same time. Peaks would add up
// only where runs overlap, which is unknown, so the largest counts.
func (p *Pilot) replayAll(gc cell.GC, other float64) replay {
	var sum replay
	for i := range p.streams {
		r := p.streams[i].run(gc, other)
		sum.cycles += r.cycles
		sum.seconds += r.seconds
		sum.marking += r.marking
		sum.peak = max(sum.peak, r.peak)
		sum.starving = sum.starving || r.starving
	}
	return sum
}

// moments are the sums behind a weighted mean and deviation.
type moments struct{ n, sum, square float64 }

func (m *moments) add(v float64) { m.weigh(1, v) }

func (m *moments) weigh(weight, v float64) {
	m.n, m.sum, m.square = m.n+weight, m.sum+weight*v, m.square+weight*v*v
}

func (m *moments) mean() float64 { return m.sum / max(m.n, 1) }

func (m *moments) deviation() float64 {
	return math.Sqrt(max(m.square/max(m.n, 1)-m.mean()*m.mean(), 0))
}
