package advice

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"slices"

	"github.com/google/pprof/profile"
)

// enter puts the runtime's functions, which profiles of allocations leave out, below the lines that call them: the
// program has the calls. What a conversion makes and what the boxing of its result does are two calls of one line.
// It reports whether it found any.
func enter(p *profile.Profile) (found bool) {
	if !slices.ContainsFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "alloc_space" }) {
		return false
	}
	f, err := elf.Open(p.Mapping[0].File)
	if err != nil {
		return false
	}
	defer f.Close()
	calls, err := newCalls(f, p.Mapping[0])
	if err != nil {
		return false
	}
	functions := map[string]*profile.Location{}
	for _, s := range p.Sample {
		if len(s.Location) == 0 {
			continue
		}
		name := calls.at(s.Location[0].Address)
		if !allocates(name) {
			continue
		}
		if functions[name] == nil {
			fn := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name}
			loc := &profile.Location{ID: uint64(len(p.Location) + 1), Line: []profile.Line{{Function: fn}}}
			p.Function, p.Location, functions[name] = append(p.Function, fn), append(p.Location, loc), loc
		}
		s.Location, found = slices.Concat([]*profile.Location{functions[name]}, s.Location), true
	}
	return found
}

// entered does that with a profile of a program that is about to go.
func entered(name string) error {
	p, err := readProfile(context.Background(), name)
	if err != nil || len(p.Mapping) == 0 || !enter(p) {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(p.Write(f), f.Close())
}

// calls are those of a program.
type calls struct {
	code    []byte
	begin   uint64 // the address of the code in the file
	moved   uint64 // how much larger addresses of the profile are
	machine elf.Machine
	names   map[uint64]string // of functions, by address in the file
}

func newCalls(f *elf.File, m *profile.Mapping) (*calls, error) {
	text := f.Section(".text")
	if text == nil {
		return nil, elf.ErrNoSymbols
	}
	code, err := text.Data()
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	c := &calls{code, text.Addr, m.Start - m.Offset + text.Offset - text.Addr, f.Machine, map[uint64]string{}}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			c.names[s.Value] = s.Name
		}
	}
	return c, err
}

// at is what the call calls that returns after an address; "" where there is none, or not of one function.
func (c *calls) at(address uint64) string {
	const long = 5 // bytes of a call
	end := address + 1 - c.moved
	if end < c.begin+long || end > c.begin+uint64(len(c.code)) {
		return ""
	}
	last := c.code[end-c.begin-long : end-c.begin]
	word := int32(binary.LittleEndian.Uint32(last[1:]))
	switch {
	case c.machine == elf.EM_X86_64 && last[0] == 0xe8:
		return c.names[end+uint64(int64(word))]
	case c.machine == elf.EM_AARCH64 && uint32(word)>>26 == 0x25:
		return c.names[end-4+uint64(int64(word<<6>>4))]
	}
	return ""
}
