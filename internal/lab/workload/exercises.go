package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
)

func init() {
	Register(&Workload{
		Name:    "exercises",
		Summary: "the eighteen allocation exercises: the cost of a pattern and of its remedy",
		Params: WithBudget("0", "300ms",
			Param{Name: "exercise", Default: "1",
				Help: "number of the exercise (without --variant, all exercises or those named run in every variant): " +
					exerciseList(), Check: IntRange(1, len(exerciseCases))},
			Param{Name: "variant", Default: "before",
				Help: "before, after, or another variant of the exercise: " + exerciseVariants(), Check: checkVariant},
		),
		New:   newExercises,
		Cases: &Cases{Of: "exercise", Over: "variant", All: everyExercise()},
	})
}

// everyExercise returns the exercises with all of their variants.
func everyExercise() []Case {
	cases := make([]Case, 0, len(exerciseCases))
	for i := range exerciseCases {
		c := &exerciseCases[i]
		levels := []string{"before", "after"}
		for _, name := range variantNames(c) {
			if !slices.Contains(levels, name) {
				levels = append(levels, name)
			}
		}
		cases = append(cases, Case{strconv.Itoa(i + 1), c.name, levels})
	}
	return cases
}

// exercises are the pairs of seed document 003: a pattern that allocates more
// than it should, its remedy, and for some a second remedy, or a case in which
// a later Go version removed the effect. All variants of an exercise give the
// same result. Details that the document leaves open (a callee's body, the size
// of the data) are chosen to isolate the pattern. Where the document's effect
// depends on it, callees are not inlined; a variant named inlined shows the
// other case.
type exercises struct {
	Budgeted
	in *exerciseInput
	op func(*exerciseInput) uint64
}

// An exerciseCase is one exercise. prepare may be nil; it makes what must exist
// before the measured phase.
type exerciseCase struct {
	name     string
	prepare  func(*exerciseInput)
	variants map[string]func(*exerciseInput) uint64
}

// exerciseCases are the exercises in the order of the document.
var exerciseCases = [...]exerciseCase{
	{"sprintf", nil, map[string]func(*exerciseInput) uint64{"before": sprintfBefore, "after": sprintfAfter}},
	{"byteconv", nil, map[string]func(*exerciseInput) uint64{"before": byteconvBefore, "after": byteconvAfter,
		"unsafe": byteconvUnsafe, "kept": byteconvKept}},
	{"stringconv", nil, map[string]func(*exerciseInput) uint64{"before": stringconvBefore, "after": stringconvAfter}},
	{"concatloop", nil, map[string]func(*exerciseInput) uint64{"before": concatBefore, "after": concatAfter,
		"nogrow": concatNoGrow}},
	{"prealloc", nil, map[string]func(*exerciseInput) uint64{"before": preallocBefore, "after": preallocAfter,
		"index": preallocIndex}},
	{"bufferpercall", nil, map[string]func(*exerciseInput) uint64{"before": bufferBefore, "after": bufferAfter,
		"pool": bufferPool}},
	{"closurecapture", nil, map[string]func(*exerciseInput) uint64{"before": closureBefore, "after": closureAfter}},
	{"boxing", nil, map[string]func(*exerciseInput) uint64{"before": boxingBefore, "after": boxingAfter,
		"slog": boxingSlog}},
	{"optionalpointer", nil, map[string]func(*exerciseInput) uint64{"before": optionalBefore, "after": optionalAfter,
		"sidetable": optionalSideTable}},
	{"timeafter", nil, map[string]func(*exerciseInput) uint64{"before": timeAfterBefore, "after": timeAfterAfter}},
	{"jsonloop", nil, map[string]func(*exerciseInput) uint64{"before": jsonBefore, "after": jsonAfter}},
	{"regexpcompile", nil, map[string]func(*exerciseInput) uint64{"before": regexpBefore, "after": regexpAfter,
		"lazy": regexpLazy}},
	{"pointerkey", prepareKeys, map[string]func(*exerciseInput) uint64{"before": keyBefore, "after": keyAfter}},
	{"deferloop", nil, map[string]func(*exerciseInput) uint64{"before": deferBefore, "after": deferAfter,
		"explicit": deferExplicit}},
	{"errorsnew", nil, map[string]func(*exerciseInput) uint64{"before": errorsBefore, "after": errorsAfter,
		"inlined": errorsInlined}},
	{"resultslice", nil, map[string]func(*exerciseInput) uint64{"before": resultBefore, "after": resultAfter,
		"iterator": resultIterator}},
	{"finalizer", nil, map[string]func(*exerciseInput) uint64{"before": finalizerBefore, "after": finalizerAfter,
		"cleanup": finalizerCleanup}},
	{"pointerwrapper", nil, map[string]func(*exerciseInput) uint64{"before": wrapperBefore, "after": wrapperAfter,
		"inlined": wrapperInlined}},
}

func exerciseList() string {
	var names []string
	for i, c := range exerciseCases {
		names = append(names, fmt.Sprintf("%d %s", i+1, c.name))
	}
	return strings.Join(names, ", ")
}

func variantNames(c *exerciseCase) []string {
	var names []string
	for name := range c.variants {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func exerciseVariants() string {
	var lists []string
	for i := range exerciseCases {
		var others []string
		for _, name := range variantNames(&exerciseCases[i]) {
			if name != "before" && name != "after" {
				others = append(others, name)
			}
		}
		if len(others) > 0 {
			lists = append(lists, strconv.Itoa(i+1)+" "+strings.Join(others, " "))
		}
	}
	return strings.Join(lists, ", ")
}

// checkVariant accepts a variant that some exercise has; newExercises checks
// the exercise.
func checkVariant(s string) error {
	all := map[string]bool{}
	for i := range exerciseCases {
		for name := range exerciseCases[i].variants {
			all[name] = true
		}
	}
	if all[s] {
		return nil
	}
	return fmt.Errorf("want before, after, or one of: %s", exerciseVariants())
}

func newExercises(env Env) (Task, error) {
	b, err := NewBudget(env.Params)
	if err != nil {
		return nil, fmt.Errorf("workload: exercises: %w", err)
	}
	n, variant := env.Params.Int("exercise"), env.Params.String("variant")
	c := &exerciseCases[n-1]
	op := c.variants[variant]
	if op == nil {
		return nil, fmt.Errorf("workload: exercises: exercise %d (%s) has no variant %q: it has %s", n, c.name, variant,
			strings.Join(variantNames(c), ", "))
	}
	t := &exercises{Budgeted: b, in: newExerciseInput(env.Seed), op: op}
	if c.prepare != nil {
		c.prepare(t.in)
	}
	return t, nil
}

func (t *exercises) Workers() int { return 1 }

func (t *exercises) Loop(_ int, n int64) uint64 {
	var sum uint64
	for range n {
		t.in.turn++
		sum += t.op(t.in)
	}
	return sum
}

func (t *exercises) Close() error { return nil }

// exerciseInput is the data for the exercises. It belongs to the only worker.
type exerciseInput struct {
	turn   uint64 // counts operations, which derive their varying values from it
	seed   uint64
	level  string
	msg    string
	token  string   // 180 bytes
	line   []byte   // 200 bytes
	fields []string // 50
	words  string   // 10 words
	ints   []int    // 1,000
	tags   []string
	slugs  []string
	items  []exerciseItem // 10
	buf    []byte         // memory owned by the caller
	tokens []string       // likewise
	out    sumWriter
	keys   exerciseKeys
	timers exerciseTimers
	table  map[uint64]exerciseMetadata
	held   exerciseResource
}

func newExerciseInput(seed uint64) *exerciseInput {
	rng := rand.New(rand.NewPCG(seed, 0x65786572))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a' + byte(rng.IntN(26))
		}
		return string(b)
	}
	in := &exerciseInput{
		turn: rng.Uint64N(1 << 30), seed: seed, level: "INFO" + word(2), msg: word(40), token: word(180),
		line: []byte(word(200)),
		tags: []string{word(10), word(10), word(10)}, buf: make([]byte, 0, 1024), tokens: make([]string, 0, 32),
	}
	for range 50 {
		in.fields = append(in.fields, word(3+rng.IntN(6)))
	}
	for range 10 {
		in.items = append(in.items, exerciseItem{rng.Uint64()})
		in.words += word(5) + " "
	}
	for range 1000 {
		in.ints = append(in.ints, rng.IntN(1<<20))
	}
	for range 8 {
		in.slugs = append(in.slugs, word(6)+"-"+word(8))
	}
	in.timers.work = make(chan uint64, 1)
	return in
}

// sumWriter sums what is written to it, as text or as bytes.
type sumWriter struct{ sum uint64 }

func (w *sumWriter) Write(b []byte) (int, error) {
	for _, c := range b {
		w.sum = w.sum*31 + uint64(c)
	}
	return len(b), nil
}

func (w *sumWriter) WriteString(s string) (int, error) {
	for i := range len(s) {
		w.sum = w.sum*31 + uint64(s[i])
	}
	return len(s), nil
}

// take returns the sum and starts a new one.
func (w *sumWriter) take() uint64 {
	s := w.sum
	w.sum = 0
	return s
}
