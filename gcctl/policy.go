package gcctl

import "time"

// policy holds every constant that the controller decides by. Each comment
// names the trade-off.
var policy = struct {
	// Config's defaults.
	targetCPU  float64
	maxSection time.Duration

	// The budget.
	groupMargin, reserve, runway, startRoom float64

	// The law of Adaptive.
	minPercent, maxPercent, plainPercent             float64
	step, stepBack                                   float64
	band, wideBand, newLoad                          float64
	raisePause, settleAfter, settledPause            time.Duration
	trueCost, leastUsed, smoothing, gone, fading     float64
	trustAfter                                       int
	tightPercent, fitting, shedPercent, roomyPercent float64
	alarmCycles                                      int
	shedPause                                        time.Duration

	// Estimates of the runtime.
	tempo, trend                    time.Duration
	guess, guessWithin              float64
	leastLive, noneBefore, costRise float64
	surge, brake, overrun, inARow   float64
	growing, leastWay               float64

	// When a collection of ours starts.
	minHeap, leastGain      float64
	earliest, latest, cutAt float64
	worthwhile              float64
	idleShare, gapWeight    int64
	heldFor                 time.Duration

	// When to look.
	slowPoll, restingPoll, holdPoll, quickPoll, plainPoll, fresh time.Duration
	resting                                                      float64
	pollShare, sectionLooks                                      time.Duration
	halfway, watchFrom                                           float64
}{
	// The collector's share of the CPU: lower costs memory, higher costs
	// throughput.
	targetCPU: 0.07,
	// How long a section may hold collections back: longer lets the heap grow
	// further, shorter collects in the middle of work that was to be undisturbed.
	maxSection: time.Second,

	// Share of a control group's limit left for memory outside the Go runtime:
	// higher wastes memory, lower risks that the kernel kills the process.
	groupMargin: 0.10,
	// Share of the budget that the heap may fill by plan. Beyond it the runtime's
	// limit would collect too often, and that limit neither counts all memory nor
	// is guaranteed.
	reserve: 0.96,
	// Share of the room under the budget that a held heap may fill: higher lets
	// the runtime's limit collect despite sections, lower cuts them early.
	runway: 0.97,
	// Share of the heap that Start requires to be free beside it: lower raises the
	// alarm at the first allocations, higher refuses programs that fit.
	startRoom: 0.05,

	// Least GOGC. Below it each step costs much CPU time, and the runtime's limit
	// does better because it follows the heap itself.
	minPercent: 30,
	// Largest GOGC. Beyond it, page faults on fresh memory cost more than
	// collections.
	maxPercent: 1000,
	// GOGC when nothing else applies: the runtime's default.
	plainPercent: 100,
	// Largest raise per sample. Live heaps grow while they fill, so a larger raise
	// overshoots; a smaller one pays for collections longer.
	step: 1.5,
	// The same once memory has become free: the GOGC to return to is known.
	stepBack: 2.5,
	// Ignore moves within this factor: narrower follows noise, wider misses the
	// target by as much.
	band: 1.15,
	// The same once settled, or after a move in the other direction: damps
	// oscillation.
	wideBand: 1.3,
	// Moves beyond this factor mean a new load and do not wait for settledPause.
	newLoad: 2,
	// Least time between raises: shorter follows bursts, longer pays for
	// collections in the meantime.
	raisePause: time.Second,
	// After this long without a move the load counts as steady,
	settleAfter: 15 * time.Second,
	// and a small move waits this long: avoids moves that gain nothing.
	settledPause: time.Minute,
	// True cost of collecting, as a multiple of the CPU time accounted to it:
	// marking also slows the program down. Higher uses more memory.
	trueCost: 1.5,
	// Least share of the used CPU time that counts as the program's: bounds the
	// cost when a collector that has fallen behind takes all of it.
	leastUsed: 0.05,
	// Weight of one collection in averages: higher reacts faster, lower is
	// steadier.
	smoothing: 0.3,
	// Collections before their cost is trusted: fewer act on chance.
	trustAfter: 3,
	// Below 75 % of the previous live heap, or as far above it, assume a new load:
	// closer to 1 forgets recurring peaks, further away keeps memory idle.
	gone: 0.75,
	// Share of the excess over the current live heap that each collection forgets:
	// lower holds room for a peak longer.
	fading: 0.1,

	// GOGC below which the alarm is raised: higher alarms programs that could go
	// on, lower lets them collect all the time.
	tightPercent: 10,
	// Share of the budget that a heap at tightPercent must fit into.
	fitting: 0.95,
	// Consecutive collections without room that raise the alarm, and with room
	// that end it: fewer react to a spike, more delay shedding.
	alarmCycles: 3,
	// GOGC that the program is asked to make room for. Just enough to end the alarm
	// would leave a program that mostly collects.
	shedPercent: 100,
	// Room that ends the alarm: above tightPercent, to avoid flicker.
	roomyPercent: 15,
	// Least time between calls of OnShed: the program needs time to act.
	shedPause: time.Second,

	// Time constant of the average allocation rate: shorter takes a burst for the
	// load, longer is slow to notice that one lasts.
	tempo: 500 * time.Millisecond,
	// Time constant of the average growth of the live heap: shorter takes the
	// difference between two collections for growth, longer is slow to notice some.
	trend: 5 * time.Second,
	// Seconds of collection per live byte before the first measurement: higher
	// starts the first collections early, lower starts them late.
	guess: 0.5e-9,
	// An estimate from CPU times may differ from the guess by this factor: those
	// collections shared the CPUs.
	guessWithin: 10,
	// Share of the way from live heap to goal to keep free for a collection that
	// finds all of it live: the runtime paces a collection for the live heap of the
	// last one, and on a busy machine passed its goal by up to 45 % of the way.
	// Higher costs collections, lower passes the budget when the live heap jumps.
	surge: 0.5,
	// Least live heap to assume, in bytes: avoids division by almost nothing.
	leastLive: 1 << 20,
	// The runtime starts no collection before this share of the way to its goal:
	// pauses counted until then are no sign of one.
	noneBefore: 0.5,
	// Goal to set, as a share of the heap, in a collection that may exceed the budget. The
	// runtime lets a heap pass its goal by a tenth before it makes goroutines mark before
	// they allocate; with a lower goal, the next collection would follow at once.
	brake: 0.87,
	// How far above its goal, or above a live heap larger than that, the runtime lets a
	// heap grow before it makes goroutines mark before they allocate.
	overrun: 1.1,
	// Consecutive collections that may do so when the live heap jumps and no look comes in
	// time to brake them: one finds all of its heap live, the next what was allocated
	// meanwhile, and the third begins at once because the second ended so high.
	inARow: 3,
	// A live heap this much larger than the largest recent one is filling: closer to 1
	// takes objects allocated during marking for growth.
	growing: 1.08,
	// Least way from live heap to goal, as a share of the live heap, that tells
	// when the runtime starts a collection: a shorter one moves with other memory.
	leastWay: 0.1,
	// The cost of a read may rise by at most this share per read: anything beyond
	// is time that others had the CPU.
	costRise: 1.0 / 64,

	// The runtime's least goal under GOGC=100, in bytes.
	minHeap: 4 << 20,
	// Share of the live heap that must have been allocated since the last
	// collection: lower collects for nothing, higher is late where the goal is
	// near.
	leastGain: 0.03,
	// Shares of the way from live heap to goal: a collection starts here at the
	// earliest, no matter how long it takes,
	earliest: 0.7,
	// and here at the latest, no matter how short. Early costs CPU time, late
	// costs memory.
	latest: 0.95,
	// The same on the way to the ceiling, where sections are cut: the collection
	// must end before the runtime's limit acts.
	cutAt: 0.85,
	// From here on, use idle time for a collection: earlier collects more often,
	// later leaves more to busy moments.
	worthwhile: 0.5,
	// A gap this many times shorter than a collection is still used for one that
	// is due soon: any part done now need not be done later.
	idleShare: 4,
	// The last gap counts for one part in this many of the average.
	gapWeight: 8,
	// GOGC stays off this long after the last section. Setting it waits for a
	// running mark phase, too long to repeat for each section; but the heap grows
	// meanwhile.
	heldFor: time.Second,

	// Longest times between looks, by what is at stake: each look costs CPU time,
	// and a longer wait reacts later. In general;
	slowPoll: 200 * time.Millisecond,
	// for a process that hardly allocates,
	restingPoll: time.Second,
	// meaning less than this many bytes a second;
	resting: 64 << 10,
	// while the controller starts collections, or may do so for callers of Idle.
	holdPoll: 50 * time.Millisecond,
	// Shortest times: while the controller starts collections; while the runtime
	// does.
	quickPoll: 2 * time.Millisecond,
	plainPoll: 20 * time.Millisecond,
	// A look takes at most one part in this many of its interval: bounds its cost
	// at 0.2 %.
	pollShare: 500,
	// Readings younger than this are reused.
	fresh: time.Millisecond,
	// The watchdog looks this often within MaxSection, which bounds how late it
	// is.
	sectionLooks: 8,
	// Look again after this share of the time to the next event: rates change.
	halfway: 0.5,
	// Share of the budget from which every mode watches the live heap.
	watchFrom: 0.5,
}
