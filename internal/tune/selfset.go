package tune

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/stat"
)

// Calls of package runtime/debug that set the collector.
const (
	setPercent = "debug.SetGCPercent"
	setLimit   = "debug.SetMemoryLimit"
)

// implementations are the runtime's functions behind the calls. The linker keeps them only in
// programs that contain a call.
var implementations = []struct{ function, call string }{
	{"runtime/debug.setGCPercent", setPercent}, {"runtime/debug.setMemoryLimit", setLimit},
}

// CollectorCalls returns the calls in a binary that set the collector, by the names of its
// functions; any executable format will do. A program may contain a call and never make it. The
// result is empty for an unreadable file.
func CollectorCalls(path string) (calls []string) {
	binary, _ := os.ReadFile(path)
	for _, i := range implementations {
		if bytes.Contains(binary, []byte("\x00"+i.function+"\x00")) {
			calls = append(calls, i.call)
		}
	}
	return calls
}

// followed compares the goals of a run with its settings.
type followed struct {
	cycles  int     // with a goal large enough to tell
	off     int     // cycles whose goal is not what the setting asks for
	none    int     // collections without a goal: forced, with collection off
	percent float64 // GOGC implied by those that are off, or by all if none is: median
	goal    float64 // bytes, of the same cycles: median
}

// obeys compares the goals of a run with its setting. After each cycle the runtime
// sets the next goal to the marked bytes plus GOGC/100 of them and the roots, at
// least 4 MiB times GOGC/100, which is the first goal of a process. gctrace rounds, so goals
// of a few MiB say nothing; with a GOMEMLIMIT only goals that are too large do.
func obeys(rec *cell.Record) followed {
	gc := rec.Cell.GC
	var f followed
	ratio := float64(gc.Percent) / 100
	last := map[int]cell.Cycle{}
	var percents, goals, ownPercents, ownGoals []float64
	for _, c := range rec.Cycles {
		before, later := last[c.Stream]
		last[c.Stream] = c
		if c.GoalBytes == 0 {
			f.none++
			continue
		}
		if gc.Percent < 0 {
			continue
		}
		marked, roots := float64(before.LiveBytes)+mib/2, float64(before.StackBytes+before.GlobalBytes)
		goal := float64(c.GoalBytes) + mib/2
		if !later { // 4 MiB times the usual values of GOGC/100 are whole
			marked, roots, goal = 0, max(minimumHeap, float64(c.StackBytes+c.GlobalBytes)), float64(c.GoalBytes)
		}
		asked := percentGoal(gc.Percent, marked, roots)
		if max(asked, goal) < smallHeap {
			continue
		}
		f.cycles++
		implied := 100 * (goal - marked) / (marked + roots)
		percents, goals = append(percents, implied), append(goals, goal)
		// gctrace rounds what was marked, and the goal.
		allowed := 0.1*asked + mib*(0.5+0.5*(1+ratio))
		if goal > asked+allowed || gc.LimitBytes == 0 && goal < asked-allowed {
			f.off++
			ownPercents, ownGoals = append(ownPercents, implied), append(ownGoals, goal)
		}
	}
	if f.off > 0 {
		percents, goals = ownPercents, ownGoals
	}
	if f.cycles > 0 {
		f.percent, f.goal = stat.Median(percents), stat.Median(goals)
	}
	return f
}

// exceeds reports whether the goals of a run leave less of its GOMEMLIMIT than any program needs
// beside the heap: another limit must be in force. One goal suffices if collections are few.
func exceeds(rec *cell.Record) bool {
	over, cycles, marked := 0, 0, map[int]int64{}
	for _, c := range rec.Cycles {
		if room := c.GoalBytes - marked[c.Stream]; room > 2*mib { // otherwise live data sets the goal
			cycles++
			if float64(c.GoalBytes) > limitGoal(float64(rec.Cell.GC.LimitBytes)-leastOther) {
				over++
			}
		}
		marked[c.Stream] = c.LiveBytes
	}
	few := over < 3 && 2*over < len(rec.Cycles)
	return rec.Cell.GC.LimitBytes > 0 && 3*over > 2*cycles && !few
}

// ownLimit says why settings with a limit change nothing, if a run under one has shown it.
func (t *tuning) ownLimit() string {
	if t.exceeds == "" {
		return ""
	}
	return "the program sets its memory limit itself, by " + setLimit + ": heap goals under " + t.exceeds +
		" exceed that limit; GOMEMLIMIT has no effect: change that call, or make it depend on the environment; GOGC " +
		"still acts: --gogc 50,200,400"
}

// unseenLimit doubts a limit of the answer that bounded the heap in no run, if the program may set its own.
func (t *tuning) unseenLimit() string {
	gc := t.answer.Setting.GC
	acted := func(p Pilot) bool { return p.Beyond != 0 }
	if gc.LimitBytes == 0 || gc == t.Base.GC || !slices.Contains(t.Calls, setLimit) ||
		slices.ContainsFunc(t.pilots, acted) {
		return ""
	}
	return "its binary contains " + setLimit + ", and no run needed its GOMEMLIMIT: if the program makes that call, its " +
		"own limit holds, and GOMEMLIMIT bounds nothing"
}

// disobeys reports whether the goals ignore the settings, in at least so many cycles.
func (f followed) disobeys(cycles int) bool {
	return f.cycles >= cycles && 3*f.off > 2*f.cycles || f.cycles == 0 && f.none > 0
}

// tellingCycles is how many goals show that a program ignores its settings.
const tellingCycles = 3

// selfSet says how the first two runs, under different settings, show that a program sets its
// collector itself; "" if they do not. calls are from CollectorCalls.
func selfSet(first, second *cell.Record, calls []string) string {
	a, b := obeys(first), obeys(second)
	contains, change := "no call was found in the command's own binary: a script sets GOGC, or a program that it starts "+
		"makes the call", "take GOGC out of the script (and give it as --current), or change the call"
	if len(calls) > 0 {
		contains, change = "its binary contains "+strings.Join(calls, " and "), "change that call"
	}
	on := "it"
	if b.off < b.cycles {
		on = fmt.Sprintf("%d of %d collections of the second run", b.off, b.cycles)
	}
	limits := slices.Contains(calls, setLimit)
	acts := "; a GOMEMLIMIT still acts"
	if limits {
		acts = ""
	}
	still := "; GOGC has no effect on " + on + ": " + change + ", or make it depend on the environment"
	agree := math.Abs(math.Log(max(a.percent, 1)/max(b.percent, 1))) < 0.3
	least := tellingCycles
	if agree && min(a.off, b.off) > 0 && a.cycles+b.cycles >= tellingCycles { // few collections, but two runs of them
		least = 1
	}
	switch {
	case len(first.Cycles)+len(second.Cycles) == 0 && slices.Contains(calls, setPercent):
		return "the program turns its collector off, allocates too little for a collection, or starts another program " +
			"and keeps its standard error: none was seen under either of two settings, and " + contains + "; in the first " +
			"case change that call, or make it depend on the environment" + acts
	case !b.disobeys(least) || !a.disobeys(least) && !stay(a, b) && (a.cycles > 0 || len(calls) == 0):
		return ""
	case b.cycles == 0:
		return "the program turns its collector off and collects when it chooses: its collections have no goal; " +
			contains + still + acts
	case a.cycles == 0 || agree && (!limits || a.disobeys(least)):
		return fmt.Sprintf("the program sets GOGC itself: its goals are those of about GOGC=%.0f, under GOGC=%s and under "+
			"GOGC=%s; %s%s%s", b.percent, first.Cell.GC.GOGC(),
			second.Cell.GC.GOGC(), contains, still, acts)
	}
	return fmt.Sprintf("the program sets its collector itself: its goals stay near %s, under GOGC=%s and under GOGC=%s; "+
		"%s%s", bytesText(b.goal), first.Cell.GC.GOGC(), second.Cell.GC.GOGC(), contains, still)
}

// itself reports whether the runs so far show that the program sets its collector itself, and sets
// the outcome then.
func (t *tuning) itself(records []*cell.Record) (bool, error) {
	if len(records) == 2 {
		first, second := records[0], records[1]
		set, err := t.setsLimit(first, second)
		if set || err != nil || t.outcome(selfSet(first, second, t.Calls)) || t.ownDefault(first, second) {
			return true, err
		}
	}
	return t.outcome(t.ownLimit()), nil
}

// stay reports whether the goals of two runs are the same in bytes. If their settings differ, one
// may obey its own by coincidence.
func stay(a, b followed) bool {
	return min(a.cycles, b.cycles) >= tellingCycles && math.Abs(a.goal-b.goal) < max(0.05*b.goal, mib)
}

// setsLimit has a program run a third time whose goals stay in the first two, and which may set its
// memory limit itself. Under a higher GOMEMLIMIT the goals of a program that obeys one rise. It
// reports whether it set the outcome.
func (t *tuning) setsLimit(first, second *cell.Record) (bool, error) {
	a, b := obeys(first), obeys(second)
	if !slices.Contains(t.Calls, setLimit) || slices.Contains(t.Calls, setPercent) || !b.disobeys(tellingCycles) ||
		!stay(a, b) {
		return false, nil
	}
	higher := t.with(setting(second.Cell.GC.Percent, roundUp(int64(2*b.goal+usualOther))))
	third, err := t.measure(higher, t.block, "looking at "+settingText(higher))
	if err != nil && !t.infeasible(third) {
		return false, err
	}
	stays := fmt.Sprintf("its goals stay near %s under GOGC=%s and GOGC=%s", bytesText(b.goal), first.Cell.GC.GOGC(),
		second.Cell.GC.GOGC())
	if err != nil || obeys(third).goal > 1.25*b.goal {
		t.answer.Outcome = Inconclusive
		t.answer.Reason = fmt.Sprintf("where its environment has no GOMEMLIMIT, the program limits its memory itself, by "+
			"%s: %s, and follow %s: give its limit, as --current %s:LIMIT", setLimit, stays, settingText(higher),
			t.Base.GC.GOGC())
		return true, nil
	}
	return t.outcome("the program sets its memory limit itself, by " + setLimit + ": " + stays + ", and also under " +
		settingText(higher) + "; neither GOGC nor GOMEMLIMIT has an effect: raise the limit in that call, or make it " +
		"depend on the environment"), nil
}

// ownDefault reports whether the first two runs show that the program has a GOGC of its own where
// its environment has none. The model needs today's GOGC, so it sets the outcome. If the second run
// has no goal to compare, it followed its GOGC: under the program's own it would collect as often.
func (t *tuning) ownDefault(first, second *cell.Record) bool {
	a, b := obeys(first), obeys(second)
	if !slices.Contains(t.Base.Unset, cell.EnvGOGC) || t.Base.GC.Percent != cell.DefaultGC.Percent ||
		!a.disobeys(tellingCycles) || a.cycles == 0 || b.disobeys(1) {
		return false
	}
	t.answer.Outcome = Inconclusive
	t.answer.Reason = fmt.Sprintf("where its environment has no GOGC, the program runs under one of its own, about "+
		"GOGC=%d, and it follows GOGC=%s: give today's, such as --current %[1]d", int(a.percent), second.Cell.GC.GOGC())
	return true
}
