package session

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/study/claim"
)

// oneClaim returns an empty store and a claim to measure into it.
func oneClaim(t *testing.T) (*store.Store, claim.Doubt) {
	t.Helper()
	s, err := store.Open(filepath.Join(t.TempDir(), "claims.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	claims, err := claim.Select(nil, []string{"000/force-beside-enable"})
	if err != nil {
		t.Fatal(err)
	}
	return s, claim.Doubt{Experiment: claims[0].Experiment, Claims: claims}
}

// TestClaimPasses holds that each pass adds repetitions to the experiment's single run, and
// that a resumed session knows the number of passes.
func TestClaimPasses(t *testing.T) {
	s, doubt := oneClaim(t)
	e := doubt.Experiment
	session, err := newClaimRuns(s, claim.Quick, false)
	if err != nil {
		t.Fatal(err)
	}
	pass, err := e.Pass(claim.Quick, session.seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	each := len(pass)
	measure := func(session *claimRuns, finish int) (pending int) {
		t.Helper()
		id, cells, err := session.run(s, doubt)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cells[:min(finish, len(cells))] {
			if err := s.Append(id, &cell.Record{Cell: c, Started: time.Now()}, nil); err != nil {
				t.Fatal(err)
			}
		}
		return len(cells)
	}
	if n := measure(session, each); n != each {
		t.Errorf("first pass: %d cells, want %d", n, each)
	}
	if n := measure(session, each-2); n != each || session.passes[e] != 2 {
		t.Errorf("second pass: %d cells, want %d; %d passes", n, each, session.passes[e])
	}
	resumed, err := newClaimRuns(s, claim.Quick, true)
	if err != nil {
		t.Fatal(err)
	}
	if n := measure(resumed, each); n != 2 || resumed.seed != session.seed || resumed.passes[e] != 2 {
		t.Errorf("resumed: %d cells, want the 2 that are left; %d passes", n, resumed.passes[e])
	}
	runs, err := s.Runs()
	if err != nil || len(runs) != 1 || runs[0].Finished != 2*each {
		t.Errorf("%d runs, %+v, %v; want one with %d cells", len(runs), runs, err, 2*each)
	}
}

// TestClaimOrder holds that next starts with the experiment that has taken the least time,
// and leaves out those that do not fit or were measured often enough.
func TestClaimOrder(t *testing.T) {
	short, long, often := claim.Experiment{Run: "short"}, claim.Experiment{Run: "long"}, claim.Experiment{Run: "often"}
	session := &claimRuns{size: claim.Quick,
		passes: map[claim.Experiment]int{short: 2, long: 1, often: claim.MaxPasses},
		took:   map[claim.Experiment]time.Duration{short: time.Second, long: time.Minute, often: time.Millisecond},
	}
	next := func(spent time.Duration) (out []claim.Experiment) {
		for _, d := range session.next([]claim.Doubt{{Experiment: long}, {Experiment: often}, {Experiment: short}},
			time.Now().Add(-spent)) {
			out = append(out, d.Experiment)
		}
		return out
	}
	for _, test := range []struct {
		spent time.Duration
		want  []claim.Experiment
	}{
		{0, []claim.Experiment{short, long}},
		{quickTime - 30*time.Second, []claim.Experiment{short}},
		{quickTime + time.Second, nil},
	} {
		if got := next(test.spent); !slices.Equal(got, test.want) {
			t.Errorf("after %s: %v, want %v", test.spent, got, test.want)
		}
	}
	session.size = claim.Full
	if got := next(time.Hour); len(got) != 2 {
		t.Errorf("full size: %v, want the two below the maximum of passes", got)
	}
}

// TestResumedClaimsCountTheirTime resumes a day-old call that was interrupted for two hours.
func TestResumedClaimsCountTheirTime(t *testing.T) {
	s, doubt := oneClaim(t)
	session, err := newClaimRuns(s, claim.Quick, false)
	if err != nil {
		t.Fatal(err)
	}
	id, cells, err := session.run(s, doubt)
	if err != nil {
		t.Fatal(err)
	}
	const step = 30 * time.Second
	measured := step * time.Duration(len(cells)-2)
	start := time.Now().Add(-24 * time.Hour)
	for i, c := range cells {
		at := start.Add(time.Duration(i) * step)
		if i == len(cells)-1 { // after an interruption
			at = start.Add(2 * time.Hour)
		}
		if err := s.Append(id, &cell.Record{Cell: c, Started: at}, nil); err != nil {
			t.Fatal(err)
		}
	}
	resumed, err := newClaimRuns(s, claim.Quick, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, pending, err := resumed.run(s, doubt); err != nil || len(pending) > 0 {
		t.Fatalf("%d cells pending, %v", len(pending), err)
	}
	took := resumed.took[doubt.Experiment]
	if (resumed.before-measured).Abs() > time.Second || (took-measured).Abs() > time.Second {
		t.Errorf("measured for %v before, the experiment for %v, want %v", resumed.before, took, measured)
	}
	if next := resumed.next([]claim.Doubt{doubt}, time.Now().Add(measured/2-quickTime)); len(next) > 0 {
		t.Errorf("an experiment of %v in the %v that are left", measured, measured/2)
	}
}
