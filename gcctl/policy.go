package gcctl

import "time"

// Every constant that the controller decides by, with the trade-off each one makes.
const (
	// The collector's share of the CPU: lower costs memory, higher costs
	// throughput.
	policyTargetCPU = 0.07
	// How long a section may hold collections back: longer lets the heap grow
	// further, shorter collects in the middle of work that was to be undisturbed.
	policyMaxSection = time.Second

	// Share of a control group's limit left for memory outside the Go runtime:
	// higher wastes memory, lower risks that the kernel kills the process.
	policyGroupMargin = 0.10
	// Share of the budget that the heap may fill by plan. Beyond it the runtime's
	// limit would collect too often, and that limit neither counts all memory nor
	// is guaranteed.
	policyReserve = 0.96
	// Share of the room under the budget that a held heap may fill: higher lets
	// the runtime's limit collect despite sections, lower cuts them early.
	policyRunway = 0.97
	// Share of the heap that Start requires to be free beside it: lower raises the
	// alarm at the first allocations, higher refuses programs that fit.
	policyStartRoom = 0.05

	// Least GOGC. Below it each step costs much CPU time, and the runtime's limit
	// does better because it follows the heap itself.
	policyMinPercent = 30
	// Largest GOGC. Beyond it, page faults on fresh memory cost more than
	// collections.
	policyMaxPercent = 1000
	// GOGC when nothing else applies: the runtime's default.
	policyPlainPercent = 100
	// Largest raise per sample. Live heaps grow while they fill, so a larger raise
	// overshoots; a smaller one pays for collections longer.
	policyStep = 1.5
	// The same once memory has become free: the GOGC to return to is known.
	policyStepBack = 2.5
	// Ignore moves within this factor: narrower follows noise, wider misses the
	// target by as much.
	policyBand = 1.15
	// The same once settled, or after a move in the other direction: damps
	// oscillation.
	policyWideBand = 1.3
	// Moves beyond this factor mean a new load and do not wait for policySettledPause.
	policyNewLoad = 2
	// Least time between raises: shorter follows bursts, longer pays for
	// collections in the meantime.
	policyRaisePause = time.Second
	// After this long without a move the load counts as steady,
	policySettleAfter = 15 * time.Second
	// and a small move waits this long: avoids moves that gain nothing.
	policySettledPause = time.Minute
	// True cost of collecting, as a multiple of the CPU time accounted to it:
	// marking also slows the program down. Higher uses more memory.
	policyTrueCost = 1.5
	// Least share of the used CPU time that counts as the program's: bounds the
	// cost when a collector that has fallen behind takes all of it.
	policyLeastUsed = 0.05
	// Weight of one collection in averages: higher reacts faster, lower is
	// steadier.
	policySmoothing = 0.3
	// Collections before their cost is trusted: fewer act on chance.
	policyTrustAfter = 3
	// Below 75 % of the previous live heap, or as far above it, assume a new load:
	// closer to 1 forgets recurring peaks, further away keeps memory idle.
	policyGone = 0.75
	// Share of the excess over the current live heap that each collection forgets:
	// lower holds room for a peak longer.
	policyFading = 0.1

	// GOGC below which the alarm is raised: higher alarms programs that could go
	// on, lower lets them collect all the time.
	policyTightPercent = 10
	// Share of the budget that a heap at policyTightPercent must fit into.
	policyFitting = 0.95
	// Consecutive collections without room that raise the alarm, and with room
	// that end it: fewer react to a spike, more delay shedding.
	policyAlarmCycles = 3
	// GOGC that the program is asked to make room for. Just enough to end the alarm
	// would leave a program that mostly collects.
	policyShedPercent = 100.0
	// Room that ends the alarm: above policyTightPercent, to avoid flicker.
	policyRoomyPercent = 15
	// Least time between calls of OnShed: the program needs time to act.
	policyShedPause = time.Second

	// Time constant of the average allocation rate: shorter takes a burst for the
	// load, longer is slow to notice that one lasts.
	policyTempo = 500 * time.Millisecond
	// Time constant of the average growth of the live heap: shorter takes the
	// difference between two collections for growth, longer is slow to notice some.
	policyTrend = 5 * time.Second
	// Seconds of collection per live byte before the first measurement: higher
	// starts the first collections early, lower starts them late.
	policyGuess = 0.5e-9
	// An estimate from CPU times may differ from the guess by this factor: those
	// collections shared the CPUs.
	policyGuessWithin = 10
	// Share of the way from live heap to goal to keep free for a collection that
	// finds all of it live: the runtime paces a collection for the live heap of the
	// last one, and on a busy machine passed its goal by up to 45 % of the way.
	// Higher costs collections, lower passes the budget when the live heap jumps.
	policySurge = 0.5
	// Least live heap to assume, in bytes: avoids division by almost nothing.
	policyLeastLive = 1 << 20
	// The runtime starts no collection before this share of the way to its goal:
	// pauses counted until then are no sign of one.
	policyNoneBefore = 0.5
	// Goal to set, as a share of the heap, in a collection that may exceed the budget. The
	// runtime lets a heap pass its goal by a tenth before it makes goroutines mark before
	// they allocate; with a lower goal, the next collection would follow at once.
	policyBrake = 0.87
	// How far above its goal, or above a live heap larger than that, the runtime lets a
	// heap grow before it makes goroutines mark before they allocate.
	policyOverrun = 1.1
	// Consecutive collections that may do so when the live heap jumps and no look comes in
	// time to brake them: one finds all of its heap live, the next what was allocated
	// meanwhile, and the third begins at once because the second ended so high.
	policyInARow = 3
	// A live heap this much larger than the largest recent one is filling: closer to 1
	// takes objects allocated during marking for growth.
	policyGrowing = 1.08
	// Least way from live heap to goal, as a share of the live heap, that tells
	// when the runtime starts a collection: a shorter one moves with other memory.
	policyLeastWay = 0.1
	// The cost of a read may rise by at most this share per read: anything beyond
	// is time that others had the CPU.
	policyCostRise = 1.0 / 64

	// The runtime's least goal under GOGC=100, in bytes.
	policyMinHeap = 4 << 20
	// Share of the live heap that must have been allocated since the last
	// collection: lower collects for nothing, higher is late where the goal is
	// near.
	policyLeastGain = 0.03
	// Shares of the way from live heap to goal: a collection starts here at the
	// earliest, no matter how long it takes,
	policyEarliest = 0.7
	// and here at the latest, no matter how short. Early costs CPU time, late
	// costs memory.
	policyLatest = 0.95
	// The same on the way to the ceiling, where sections are cut: the collection
	// must end before the runtime's limit acts.
	policyCutAt = 0.85
	// From here on, use idle time for a collection: earlier collects more often,
	// later leaves more to busy moments.
	policyWorthwhile = 0.5
	// A gap this many times shorter than a collection is still used for one that
	// is due soon: any part done now need not be done later.
	policyIdleShare = 4
	// The last gap counts for one part in this many of the average.
	policyGapWeight = 8
	// GOGC stays off this long after the last section. Setting it waits for a
	// running mark phase, too long to repeat for each section; but the heap grows
	// meanwhile.
	policyHeldFor = time.Second

	// Longest times between looks, by what is at stake: each look costs CPU time,
	// and a longer wait reacts later. In general;
	policySlowPoll = 200 * time.Millisecond
	// for a process that hardly allocates,
	policyRestingPoll = time.Second
	// meaning less than this many bytes a second;
	policyResting = 64 << 10
	// while the controller starts collections, or may do so for callers of Idle.
	policyHoldPoll = 50 * time.Millisecond
	// Shortest times: while the controller starts collections; while the runtime
	// does.
	policyQuickPoll = 2 * time.Millisecond
	policyPlainPoll = 20 * time.Millisecond
	// A look takes at most one part in this many of its interval: bounds its cost
	// at 0.2 %.
	policyPollShare = 500
	// Readings younger than this are reused.
	policyFresh = time.Millisecond
	// The watchdog looks this often within MaxSection, which bounds how late it
	// is.
	policySectionLooks = 8
	// Look again after this share of the time to the next event: rates change.
	policyHalfway = 0.5
	// Share of the budget from which every mode watches the live heap.
	policyWatchFrom = 0.5
)
