package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/isobar-go/isobar/internal/fleet"
	"github.com/isobar-go/isobar/internal/lab/cell"
	"github.com/isobar-go/isobar/internal/lab/host"
)

// A pinned runs cells one at a time on one machine of a fleet, so that all cells to compare
// come from the same machine.
type pinned struct {
	session  *Session
	fleet    *fleet.Fleet
	leave    func()
	options  *Fleet
	id       string // of the run, for the fleet
	member   fleet.Member
	programs map[string]map[string]fleet.Program // by file, by platform
}

// pin joins the fleet and chooses a machine that can run the program: the named one, or any
// if machine is "".
func (se *Session) pin(ctx context.Context, o *Fleet, program, machine string) (*pinned, error) {
	p := &pinned{session: se, options: o, programs: map[string]map[string]fleet.Program{}}
	var err error
	if p.fleet, p.leave, err = se.joinFleet(ctx, o); err != nil {
		return nil, err
	}
	programs, err := p.travel(ctx, program)
	if err == nil {
		p.member, err = p.fleet.Pick(ctx, p.requires(programs, machine), func(reason string) {
			fmt.Fprintf(se.Err, "isobar: fleet: no worker can run this now, waiting: %s\n", reason)
		})
	}
	if err != nil {
		p.leave()
		return nil, err
	}
	fmt.Fprintf(se.Err, "isobar: fleet: all runs are made by %s\n", p)
	return p, nil
}

// String names the machine.
func (p *pinned) String() string {
	m := p.member.Machine
	return fmt.Sprintf("worker %s on machine %s (%s, %d CPUs, %s/%s)", p.member.Name, m.Hostname, m.CPU, m.CPUs, m.OS,
		m.Arch)
}

func (p *pinned) requires(programs map[string]fleet.Program, machine string) fleet.Requirement {
	r := fleet.Requirement{Kind: fleet.KindExec, Version: host.Version(), Labels: slices.Clone(p.options.Require),
		Platforms: slices.Sorted(maps.Keys(programs))}
	if machine != "" {
		r.Labels = append(r.Labels, "machine="+machine)
	}
	return r
}

// travel uploads a program to the fleet, unless it already has.
func (p *pinned) travel(ctx context.Context, program string) (map[string]fleet.Program, error) {
	if have := p.programs[program]; have != nil {
		return have, nil
	}
	programs, err := p.session.putPrograms(ctx, p.fleet, p.options, program)
	if err == nil {
		p.programs[program] = programs
	}
	return programs, err
}

// Run implements fleet.Runner.
func (p *pinned) Run(ctx context.Context, c cell.Cell) (cell.Record, map[string][]byte, error) {
	programs, err := p.travel(ctx, c.Command[0])
	if err != nil {
		return cell.Record{}, nil, err
	}
	var entry cell.Record
	err = p.fleet.Sweep(ctx, fleet.SweepConfig{
		ID: fmt.Sprintf("%s-%d", p.id, c.Index), Cells: []cell.Cell{c}, Programs: programs,
		Requires: p.requires(programs, p.member.Machine.Hostname),
		AckWait:  p.options.Patience, Attempts: p.options.Attempts,
		Warn: p.session.warnFleet,
		Store: func(results []*fleet.Result) error {
			entry = results[0].Records[0]
			return nil
		},
	})
	switch {
	case err != nil:
		return cell.Record{}, nil, err
	case entry.Err != nil && entry.Err.Kind == cell.FailFleet:
		return cell.Record{}, nil, fmt.Errorf("fleet: %s", entry.Err.Message) // not a failure of the program
	case entry.Origin == nil || entry.Origin.Machine.Hostname != p.member.Machine.Hostname:
		return cell.Record{}, nil, fmt.Errorf("fleet: cell %d was not measured on machine %s", c.Index,
			p.member.Machine.Hostname)
	}
	return entry, nil, nil
}

// pinnedMachine returns the fleet machine that made the records, "" if this machine did or
// there are none. It fails if continuing would compare different machines.
func pinnedMachine(records []*cell.Record, o *Fleet) (machine string, err error) {
	for _, rec := range records {
		switch {
		case rec == nil:
		case rec.Origin == nil && o != nil:
			return "", Misused(errors.New("--resume: the runs so far were made on this machine: leave out --fleet"))
		case rec.Origin != nil && o == nil:
			return "", Misused(fmt.Errorf("--resume: the runs so far were made on machine %s of a fleet: give the same --fleet",
				rec.Origin.Machine.Hostname))
		case rec.Origin != nil:
			machine = rec.Origin.Machine.Hostname
		}
	}
	return machine, nil
}
