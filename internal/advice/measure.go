package advice

import (
	"bufio"
	"cmp"
	"context"
	_ "embed" // the hooks
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"

	"github.com/isobar-go/isobar/internal/heap"
	"github.com/isobar-go/isobar/internal/heap/image"
	"github.com/isobar-go/isobar/internal/heap/target"
)

//go:embed assets/measured.go.txt
var hookSource string

// Bounds on what is measured.
const (
	mostMeasured   = 60     // causes
	heavy          = 15     // of these, whose three heaviest benchmarks run; for others, only the heaviest
	measuredTimes  = "100x" // iterations of a benchmark
	measuredWithin = 12 * time.Second
	measuredPart   = time.Second        // more, for each of its parts
	memoryLimit    = "GOMEMLIMIT=64MiB" // to begin with: the heap is read repeatedly, and each collection empties pools
)

// A measurer measures lifetimes for one account. It runs the benchmarks again, with hooks in
// the functions that lead to their allocations. When a sampled call returns, the heap of the
// process shows which of the objects that it made are still in use, and who holds them.
type measurer struct {
	Config
	j      *joiner
	in     instrumenter
	tmp    string
	result sightings
	late   []string // benchmarks that did not end in time, and that time

	perBenchmark time.Duration // for one without parts
}

// measure returns what was seen, and a note on what could not be measured.
func measure(ctx context.Context, c Config, j *joiner, units []*unit) (sightings, string) {
	if c.Bench == "" {
		return nil, ""
	}
	m := &measurer{Config: c, j: j, result: sightings{}, perBenchmark: measuredWithin}
	const compiling = 6 // a sixth of the budget is kept to explain why what is measured is on the heap
	within, cancel := c.keeping(compiling).within(ctx, 4)
	defer cancel()
	err := m.all(within, units)
	return m.result, m.why(c.ended(ctx, err, "all benchmarks ran"))
}

// why returns a note on what was not measured, or "".
func (m *measurer) why(err error) (why string) {
	if err != nil {
		why = "; " + strings.Join(strings.Fields(err.Error()), " ")
	}
	if len(m.late) > 0 {
		why += fmt.Sprintf("; what was seen within %s counts", strings.Join(m.late, ", "))
	}
	return strings.Replace(why, "; ", "not all lifetimes were measured: ", 1)
}

func (m *measurer) all(ctx context.Context, units []*unit) error {
	mod, err := goEnv(ctx, m.Dir)
	if err != nil {
		return err
	}
	if m.tmp, err = os.MkdirTemp("", "isobar-measured-"); err != nil {
		return err
	}
	defer os.RemoveAll(m.tmp)
	causes := m.heaviest()
	over, err := m.instrument(causes, units)
	if err != nil || len(over) == 0 {
		return err
	}
	pkgs, err := command{mod.dir, m.Env}.benchPackages(ctx, m.Patterns)
	if err != nil {
		return err
	}
	chosen := map[*testPackage][]string{}
	var order []*testPackage
	for i, one := range causes {
		all := one.benches()
		for n, b := range all[:min(3, len(all))] {
			for _, p := range pkgs {
				if p.ImportPath != b.pkg || n > 0 && i >= heavy || slices.Contains(chosen[p], b.name) {
					continue
				}
				if len(chosen[p]) == 0 {
					order = append(order, p)
				}
				chosen[p] = append(chosen[p], b.name)
			}
		}
	}
	var failed []error
	for _, p := range order {
		if err := m.measurePackage(ctx, over, &mod, p, chosen[p]); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.ImportPath, err))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return errors.Join(failed...)
}

// heaviest returns the causes that matter, heaviest first.
func (m *measurer) heaviest() (all []*cause) {
	for _, c := range m.j.causes {
		if c.Objects > 0 {
			all = append(all, c)
		}
	}
	weight := func(c *cause) float64 { s := c.Totals.of(m.j.total); return s.weight() }
	slices.SortFunc(all, func(a, b *cause) int { return cmp.Or(cmp.Compare(weight(b), weight(a)), a.compare(b)) })
	return all[:min(mostMeasured, len(all))]
}

// instrument writes the sources with hooks, and returns the overlay with them.
func (m *measurer) instrument(causes []*cause, units []*unit) (overlay, error) {
	at := map[string][]int{}
	for _, c := range causes {
		ways := c.ways()
		for _, w := range ways[:min(waysLimit, len(ways))] {
			for _, p := range w.trail() {
				if !slices.Contains(at[p.file], p.line) {
					at[p.file] = append(at[p.file], p.line)
				}
			}
		}
	}
	over, dir := overlay{}, ""
	for _, u := range units {
		if u.Module == nil {
			continue
		}
		if dir == "" {
			dir = u.Module.Dir
			m.in.hooks = path.Join(u.Module.Path, hookPackage)
		}
		for _, f := range u.Files {
			if err := m.lay(over, f.Name, at[f.Name]); err != nil {
				return nil, err
			}
		}
	}
	if len(over) == 0 {
		return over, nil
	}
	return over, over.add(m.tmp, filepath.Join(dir, hookPackage, hookPackage+".go"), []byte(hookSource))
}

// lay adds hooks to the functions around some lines of a file.
func (m *measurer) lay(over overlay, name string, at []int) error {
	if len(at) == 0 {
		return nil
	}
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if text := m.in.file(name, src, at); text != nil {
		return over.add(m.tmp, name, text)
	}
	return nil
}

// measurePackage runs benchmarks of a package with hooks.
func (m *measurer) measurePackage(ctx context.Context, over overlay, mod *module, p *testPackage,
	names []string) error {
	m.say("building the benchmarks of " + p.ImportPath + " to measure lifetimes")
	binary := filepath.Join(m.tmp, "measured.test")
	for {
		in, err := over.command(mod, m.tmp)
		if err != nil {
			return err
		}
		if err = in.compile(ctx, binary, p.ImportPath); err == nil {
			break
		}
		if ctx.Err() != nil || !over.without(err.Error()) {
			return err
		}
	}
	var failed error
	for _, name := range names {
		m.say("how long what " + name + " of " + p.ImportPath + " makes lives")
		subs := m.parts(ctx, binary, p, name)
		limit := m.perBenchmark + time.Duration(len(subs)-1)*measuredPart
		within, cancel := context.WithTimeout(ctx, limit)
		for _, sub := range subs {
			if within.Err() != nil {
				break
			}
			if err := m.measureBenchmark(within, binary, judge{p, name, sub}); err != nil && within.Err() == nil {
				failed = fmt.Errorf("%s%s: %w", name, sub, err)
			}
		}
		late := within.Err() != nil
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if late {
			m.late = append(m.late, fmt.Sprint(limit, " of ", name))
		}
	}
	return failed
}

// parts returns the parts of a benchmark as flags name them, in an order that spreads over all
// of them: only the first calls of a process are sampled. A single part is "", for all.
func (m *measurer) parts(ctx context.Context, binary string, p *testPackage, name string) []string {
	const most = 16
	within, cancel := context.WithTimeout(ctx, m.perBenchmark)
	defer cancel()
	out, _ := command{dir: p.Dir}.run(within, binary, judge{p, name, ""}.flags("1x")...)
	var subs []string
	for _, part := range names(regexp.MustCompile(`(?m)^\s*(`+name+`/\S+?)(-\d+)?\s`), string(out)) {
		subs = append(subs, strings.TrimPrefix(pattern([]string{part}), "^"+name+"$"))
	}
	if len(subs) < 2 {
		return []string{""}
	}
	step := (len(subs) + most - 1) / most
	var chosen []string
	for first := range step {
		for i := first; i < len(subs); i += step {
			chosen = append(chosen, subs[i])
		}
	}
	return chosen
}

// without removes the files that a compiler error names, and reports whether there are any.
func (o overlay) without(text string) (some bool) {
	for name := range o {
		if filepath.Base(name) != hookPackage+".go" && strings.Contains(text, filepath.Base(name)+":") {
			delete(o, name)
			some = true
		}
	}
	return some
}

// measureBenchmark runs one benchmark and looks at its heap whenever a hook asks.
func (m *measurer) measureBenchmark(ctx context.Context, binary string, b judge) error {
	hear, tell, err := os.Pipe()
	if err != nil {
		return err
	}
	defer hear.Close()
	listen, answer, err := os.Pipe()
	if err != nil {
		tell.Close()
		return err
	}
	defer answer.Close()
	in := command{b.pkg.Dir, []string{"ISOBAR_MEASURED=1", "GOGC=off", memoryLimit}}
	cmd := in.of(ctx, binary, b.flags(measuredTimes)...)
	cmd.ExtraFiles = []*os.File{tell, listen}
	err = cmd.Start()
	tell.Close()
	listen.Close()
	if err != nil {
		return err
	}
	s := &watching{m: m, by: bench{b.pkg.ImportPath, b.name}, hear: bufio.NewReader(hear), answer: answer,
		frames: map[string][]profile.Line{}}
	stop := context.AfterFunc(ctx, func() { hear.Close() })
	defer stop()
	seen := s.follow(ctx, cmd.Process.Pid)
	if seen != nil {
		cmd.Cancel()
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil // what was seen until then counts
	case seen != nil:
		return seen
	case errors.Is(err, syscall.ECHILD): // it ended while its heap was read, and the reader has its status
		return nil
	case err != nil:
		return fmt.Errorf("it fails with hooks: %w", err)
	}
	return nil
}

// watching is the state of a process that runs with hooks.
type watching struct {
	m       *measurer
	by      bench
	hear    *bufio.Reader
	answer  io.Writer
	process *target.Process
	frames  map[string][]profile.Line // of stacks, by their addresses
}

// follow answers the hooks until the process ends.
func (s *watching) follow(ctx context.Context, pid int) error {
	defer func() {
		if s.process != nil {
			s.process.Close()
		}
	}()
	looked := false
	for {
		line, err := s.hear.ReadString('\n')
		if err != nil {
			return nil // it has ended
		}
		if s.process == nil {
			if s.process, err = target.OpenProcess(pid); err != nil {
				return err
			}
		}
		var now call
		if _, err := fmt.Sscanf(line, "look %d %d", &now.probe, &now.number); err != nil {
			return fmt.Errorf("advise: measure: %q from the hooks", line)
		}
		objects, err := heap.Made(ctx, s.process, rankRoot)
		if err != nil && looked {
			return nil // it ended meanwhile
		}
		if err != nil {
			return err
		}
		looked = true
		prepares, err := s.look(ctx, now, objects)
		if err != nil {
			return nil // it ended before naming its stacks
		}
		answer := "go\n"
		if prepares {
			answer = "prepares\n"
		}
		if _, err := io.WriteString(s.answer, answer); err != nil {
			return nil
		}
	}
}

// stack returns the lines of a stack, which the process itself resolves.
func (s *watching) stack(pcs []uint64) ([]profile.Line, error) {
	var b strings.Builder
	for _, pc := range pcs {
		fmt.Fprintf(&b, "%x ", pc)
	}
	key := b.String()
	if known, ok := s.frames[key]; ok {
		return known, nil
	}
	if _, err := io.WriteString(s.answer, key+"\n"); err != nil {
		return nil, err
	}
	var out []profile.Line
	for {
		line, err := s.hear.ReadString('\n')
		if err != nil {
			return nil, err
		}
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(part) != 3 {
			break
		}
		n, _ := strconv.ParseInt(part[2], 10, 64)
		out = append(out, profile.Line{Function: &profile.Function{Name: part[0], Filename: part[1]}, Line: n})
	}
	s.frames[key] = out
	return out, nil
}

// The ranks of roots as holders: whoever keeps memory longest comes first.
const (
	byGlobal = iota
	byGiven  // what the call was given
	byOthers
	byWaiters // lists of goroutines and timers that wait
	byResult
	byCallers // variables of the call's callers
	byChance  // registers, which may be stale
	byHooks
)

func rankRoot(r heap.Root) int {
	switch r.Kind {
	case image.Global:
		_, name, ours := strings.Cut(r.Name, hookPackage+".")
		switch {
		case strings.HasPrefix(r.Name, "runtime."):
			return byWaiters
		case !ours:
			return byGlobal
		case name == "Given":
			return byGiven
		case name == "Results":
			return byResult
		}
		return byHooks
	case image.Stack:
		if slices.ContainsFunc(r.Frames, func(f string) bool { return strings.HasSuffix(f, hookPackage+".look") }) {
			return byCallers
		}
		return byOthers
	case image.Register:
		return byChance
	}
	return byOthers
}
