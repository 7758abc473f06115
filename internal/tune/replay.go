package tune

import (
	"math"

	"github.com/isobar-go/isobar/internal/lab/cell"
)

// What the pacer of the runtime does (runtime/mgcpacer.go, Go 1.19 to 1.26).
const (
	minimumHeap  = 4 * mib // the goal is at least this times GOGC/100
	runwayShare  = 0.297   // marking begins so late that at most this share of the room is allocated meanwhile
	latestShare  = 0.95    // and never later than at this share of it
	limitReserve = 0.03    // of what GOMEMLIMIT leaves to the heap is held back, 1 MiB at least
	// maxGCShare is where the runtime's limiter stops assists.
	maxGCShare  = 0.5
	leastRoom   = mib     // what a cycle allocates where the limit leaves none: threads take memory by the block
	maxReplay   = 1 << 20 // cycles; more mean a collector that never rests
	maxStarving = 1 << 12 // cycles without room: the rest of the life is the same
)

// A replay is what the collector does in one life of the program.
type replay struct {
	cycles   int     // without those that the program asks for
	seconds  float64 // CPU
	peak     float64 // heap, bytes
	marking  float64 // bytes allocated while marking
	starving bool    // the limit leaves most cycles no room above what is live
	// more are the bytes that count to the limit beside the heap beyond those of any limit.
	// strain is by how much the logarithm of the seconds moves with a standard deviation of
	// them: much, where the limit leaves hardly any room.
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

// limitGoal is the highest goal, in bytes, where GOMEMLIMIT leaves so much to the heap.
func limitGoal(left float64) float64 { return left - max(limitReserve*left, mib) }

// beyondHeap is what counts to GOMEMLIMIT beside the objects of the heap, in bytes, as a
// goal says that follows from the limit: half a MiB is rounded away on average.
func beyondHeap(limit, goal float64) float64 {
	goal += mib / 2
	return limit - max(goal/(1-limitReserve), goal+mib)
}

// run replays the life of a process under a setting. Beside the heap it
// occupies other bytes, which count to GOMEMLIMIT.
func (t *trajectory) run(gc cell.GC, other float64) replay {
	var r replay
	var allocated, marked, live, roots float64
	forced := t.forced
	starved := 0 // cycles without room
	for n := 0; n < maxReplay && !(r.starving && n > maxStarving); n++ {
		goal := min(percentGoal(gc.Percent, marked, roots), t.total*4) // which is out of reach
		room := goal - marked
		if most := limitGoal(float64(gc.LimitBytes) - other); gc.LimitBytes > 0 && most < goal {
			room = most - marked
			if least := max(0.005*marked, leastRoom); room < least {
				starved++
				room = least
			}
		}
		r.starving = starved > (n+1)/2
		// When marking begins depends on how long it will take.
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

// replayAll replays all processes of a pilot. They are taken to run at the
// same time: peaks add up only where the runs overlap, which is not known, so
// the largest counts.
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

// moments are the sums that a mean and a deviation come from, of values that have weights.
type moments struct{ n, sum, square float64 }

func (m *moments) add(v float64) { m.weigh(1, v) }

func (m *moments) weigh(weight, v float64) {
	m.n, m.sum, m.square = m.n+weight, m.sum+weight*v, m.square+weight*v*v
}

func (m *moments) mean() float64 { return m.sum / max(m.n, 1) }

func (m *moments) deviation() float64 {
	return math.Sqrt(max(m.square/max(m.n, 1)-m.mean()*m.mean(), 0))
}
