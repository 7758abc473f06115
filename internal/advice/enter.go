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

// entered is enter for the file of a profile whose program will soon be removed.
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

// enter adds the runtime functions, which allocation profiles leave out, below the lines that
// call them; the program has the calls. This separates, for example, a conversion from the
// boxing of its result, two calls on one line. It reports whether it added any.
func enter(p *profile.Profile) (found bool) {
	allocations := func(t *profile.ValueType) bool { return t.Type == "alloc_space" }
	calls, functions := callsOf(p.Mapping[0]), map[string]*profile.Location{}
	if calls == nil || !slices.ContainsFunc(p.SampleType, allocations) {
		return false
	}
	for _, s := range p.Sample {
		if len(s.Location) == 0 || s.Location[0].Mapping != p.Mapping[0] {
			continue // of a merged profile: of another program
		}
		name := calls(s.Location[0].Address)
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

// callsOf returns a function that names the callee of the call that ends at an address of the profile, or
// returns "" if there is no call or no single callee. callsOf returns nil for a program that it cannot read.
func callsOf(m *profile.Mapping) func(address uint64) string {
	f, err := elf.Open(m.File)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, names := f.Section(".text"), map[uint64]string{} // by the address in the file
	symbols, err := f.Symbols()
	if err != nil || text == nil {
		return nil
	}
	code, err := text.Data()
	if err != nil {
		return nil
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			names[s.Value] = s.Name
		}
	}
	return func(address uint64) string {
		const long = 5 // bytes of a call
		end := address + 1 - (m.Start - m.Offset + text.Offset)
		if end < long || end > uint64(len(code)) {
			return ""
		}
		last := code[end-long : end]
		word := int32(binary.LittleEndian.Uint32(last[1:]))
		switch {
		case f.Machine == elf.EM_X86_64 && last[0] == 0xe8:
			return names[text.Addr+end+uint64(int64(word))]
		case f.Machine == elf.EM_AARCH64 && uint32(word)>>26 == 0x25:
			return names[text.Addr+end-4+uint64(int64(word<<6>>4))]
		}
		return ""
	}
}
