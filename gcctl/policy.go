package gcctl

import "time"

// policy is every number that the controller decides by; its comment says what
// each trades. Nothing changes it.
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

	// What is learned of the runtime.
	tempo                           time.Duration
	guess, guessWithin, surgeCost   float64
	leastLive, noneBefore, costRise float64

	// When a collection of ours begins.
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
	// The collector's share of the CPU: less costs memory, more costs throughput.
	targetCPU: 0.07,
	// How long a section may keep collections away: longer lets the heap grow
	// further, shorter collects in the middle of what was to be undisturbed.
	maxSection: time.Second,

	// Part of a control group's limit left for memory that the Go runtime does not
	// know of: more wastes memory, less lets the kernel kill the process.
	groupMargin: 0.10,
	// Part of the budget that the heap may fill by plan: beyond, the runtime's limit,
	// which neither counts nor promises all, would act and collect too often.
	reserve: 0.96,
	// Part of the room under the budget that a held heap may fill: more and the
	// runtime's limit collects in spite of sections, less and they are cut early.
	runway: 0.97,
	// Part of the heap that Start wants free beside it: with less, the first
	// allocations would already raise the alarm; more refuses programs that fit.
	startRoom: 0.05,

	// Least GOGC: below, each step costs much CPU time, and the runtime's limit
	// keeps the heap small better because it follows the heap as it is.
	minPercent: 30,
	// Largest GOGC: beyond, faults on fresh memory cost more than collections do.
	maxPercent: 1000,
	// GOGC where nothing says otherwise: the runtime's own default.
	plainPercent: 100,
	// Largest raise by one sample: live heaps grow while they are being filled, so
	// a larger one overshoots; a smaller one pays for collections longer.
	step: 1.5,
	// The same once memory has become free: the GOGC that is gone back to is known.
	stepBack: 2.5,
	// Moves within this factor are ignored: tighter follows noise, wider misses the
	// target by as much.
	band: 1.15,
	// The same once settled, or after a move the other way: against swinging.
	wideBand: 1.3,
	// Moves beyond this factor mean another load, and do not wait for settledPause.
	newLoad: 2,
	// Least time between raises: shorter follows bursts, longer pays for them.
	raisePause: time.Second,
	// With no move for so long, the load counts as steady,
	settleAfter: 15 * time.Second,
	// and a small move waits this long: against moves that gain nothing.
	settledPause: time.Minute,
	// Cost of collecting as a multiple of the CPU time that the runtime accounts to
	// it: the program runs slower meanwhile. More gives away memory.
	trueCost: 1.5,
	// Part of the used CPU time that counts as the program's, at least: bounds the
	// cost when a collector that has fallen behind takes all of it.
	leastUsed: 0.05,
	// Weight of one collection in averages: more follows faster, less is calmer.
	smoothing: 0.3,
	// Collections before their cost is believed: fewer act on chance.
	trustAfter: 3,
	// A live heap below this part of what it was, or as far above, is another load:
	// nearer to 1 forgets peaks that return, further keeps memory idle.
	gone: 0.75,
	// Part of what the live heap was larger by that each collection forgets: less
	// holds room for a peak longer.
	fading: 0.1,

	// A GOGC this tight is what an alarm is for: higher alarms programs that could
	// go on, lower lets them collect all the time.
	tightPercent: 10,
	// Part of the budget that a heap at tightPercent must fit into.
	fitting: 0.95,
	// Collections in a row without room until the alarm, and with room until its
	// end: fewer alarm for a spike, more lose time in which to shed.
	alarmCycles: 3,
	// Room that a program is asked to make. Just enough to end the alarm would leave
	// one that mostly collects.
	shedPercent: 100,
	// Room that ends the alarm: above tightPercent, so that it does not flicker.
	roomyPercent: 15,
	// Least time between calls of OnShed: the program needs some to act.
	shedPause: time.Second,

	// Time constant of the allocation rate's average: shorter takes a burst for the
	// load, longer is late to see that one goes on.
	tempo: 500 * time.Millisecond,
	// Seconds a collection takes for a live byte, before one was measured: more
	// begins the first ones early, less late.
	guess: 0.5e-9,
	// Factor by which an estimate from CPU times may differ from the guess: it is of
	// collections that shared the CPUs.
	guessWithin: 10,
	// Factor on that time while the program allocates: on a quarter of the CPUs
	// marking takes four times as long, with the program at half speed.
	surgeCost: 2,
	// Live heap to reckon with at the least, in bytes: against division by next to
	// nothing.
	leastLive: 1 << 20,
	// Part of the way to its goal before which the runtime starts no collection:
	// pauses seen there are no sign of one.
	noneBefore: 0.5,
	// A read's cost is taken to rise by at most this part a read: what it took
	// beyond is time that others had the CPU for.
	costRise: 1.0 / 64,

	// The runtime's least goal under GOGC=100, in bytes.
	minHeap: 4 << 20,
	// Part of the live heap that must have been allocated since the last collection:
	// less collects for nothing, more is late where the way to the goal is short.
	leastGain: 0.03,
	// Parts of the way from live heap to goal: a collection begins there at the
	// earliest, however long it takes,
	earliest: 0.7,
	// and there at the latest, however short. Early costs CPU time, late memory.
	latest: 0.95,
	// The same on the way to the ceiling, where sections are cut: it must be done
	// before the runtime's limit acts.
	cutAt: 0.85,
	// From there on, idle time is used for one: earlier collects more often, later
	// leaves more to moments that are not idle.
	worthwhile: 0.5,
	// A gap this many times shorter than a collection is still used for one that is
	// due soon anyway: what fits into it need not be done later.
	idleShare: 4,
	// One part in so many is the weight of the last gap in their average.
	gapWeight: 8,
	// GOGC stays off so long after the last section: setting it waits for a running
	// mark phase, so not for each; but the heap grows meanwhile.
	heldFor: time.Second,

	// Longest times between looks, by what is at stake: each look costs CPU time,
	// and what it would show is seen that much later. In general;
	slowPoll: 200 * time.Millisecond,
	// of a process that allocates next to nothing,
	restingPoll: time.Second,
	// which is less than so many bytes a second;
	resting: 64 << 10,
	// while the controller starts collections, or callers of Idle may have it do so.
	holdPoll: 50 * time.Millisecond,
	// Shortest times: while the controller starts collections; while the runtime does.
	quickPoll: 2 * time.Millisecond,
	plainPoll: 20 * time.Millisecond,
	// A look is at most one part in so many of its interval: a bound of 0.2 % on its
	// cost.
	pollShare: 500,
	// What was read within this is not read again.
	fresh: time.Millisecond,
	// The watchdog looks so often within MaxSection: it is late by one part of it.
	sectionLooks: 8,
	// Look again after this part of the time to the next event: rates change.
	halfway: 0.5,
	// Part of the budget from which the live heap is watched in every mode.
	watchFrom: 0.5,
}
