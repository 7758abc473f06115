package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/exercise"
)

func init() {
	Register(&Workload{
		Name:    "exercises",
		Summary: "the eighteen allocation exercises: the cost of a pattern and of its remedy",
		Params: WithBudget("0", "300ms",
			Int("exercise", "1", "number of the exercise (without --variant, all exercises or those named run in every "+
				"variant): "+exerciseList(), 1, len(exercise.All)),
			Param{Name: "variant", Default: "before",
				Help: "before, after, or another variant of the exercise: " + exerciseVariants(), Check: checkVariant},
		),
		New:   newExercises,
		Cases: &Cases{Of: "exercise", Over: "variant", All: everyExercise()},
	})
}

// everyExercise returns the exercises with all of their variants.
func everyExercise() []Case {
	cases := make([]Case, 0, len(exercise.All))
	for i, c := range exercise.All {
		cases = append(cases, Case{strconv.Itoa(i + 1), c.Name, c.VariantNames()})
	}
	return cases
}

// exercises repeats one variant of an exercise.
type exercises struct {
	Budgeted
	in *exercise.Input
	op func(*exercise.Input) uint64
}

func exerciseList() string {
	var names []string
	for i, c := range exercise.All {
		names = append(names, fmt.Sprintf("%d %s", i+1, c.Name))
	}
	return strings.Join(names, ", ")
}

func exerciseVariants() string {
	var lists []string
	for i, c := range exercise.All {
		if others := c.VariantNames()[2:]; len(others) > 0 {
			lists = append(lists, strconv.Itoa(i+1)+" "+strings.Join(others, " "))
		}
	}
	return strings.Join(lists, ", ")
}

// checkVariant accepts a variant that some exercise has; newExercises checks
// the exercise.
func checkVariant(s string) error {
	if slices.ContainsFunc(exercise.All[:], func(c exercise.Exercise) bool { return c.Variants[s] != nil }) {
		return nil
	}
	return fmt.Errorf("want before, after, or one of: %s", exerciseVariants())
}

func newExercises(env Env) (Task, error) {
	n, variant := env.Params.Int("exercise"), env.Params.String("variant")
	c := exercise.All[n-1]
	op := c.Variants[variant]
	if op == nil {
		return nil, fmt.Errorf("exercise %d (%s) has no variant %q: it has %s", n, c.Name, variant,
			strings.Join(c.VariantNames(), ", "))
	}
	t := &exercises{Budgeted: env.Budget, in: exercise.NewInput(env.Seed), op: op}
	if c.Prepare != nil {
		c.Prepare(t.in)
	}
	return t, nil
}

func (t *exercises) Loop(_ int, n int64) uint64 {
	return t.in.Do(t.op, n)
}
