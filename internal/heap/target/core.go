package target

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
)

// A Core is an ELF core file, written by the kernel, gcore or another debugger.
type Core struct {
	Program *Program
	Maps    []Mapping
	Cut     error // not nil if the file ends before the memory that it claims to have

	file     io.Closer
	machine  elf.Machine
	segments []*elf.Prog // loadable, by address
	threads  []Regs
}

// maxNotes is the largest size of a core's notes.
const maxNotes = 256 << 20

// OpenCore opens a core file. The executable is the one that the core names, unless
// binary is set. Close it when done.
func OpenCore(path, binary string) (*Core, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	c := &Core{file: file}
	if err := c.read(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("target: core %s: %w", path, err)
	}
	if binary == "" {
		if binary, err = c.executable(); err != nil {
			file.Close()
			return nil, fmt.Errorf("target: the executable of core %s: %w (name it with --binary)", path, err)
		}
	}
	if c.Program, err = OpenProgram(binary, binary); err != nil {
		file.Close()
		return nil, fmt.Errorf("%w (name the executable of the core with --binary)", err)
	}
	if err := errors.Join(c.setBias(), c.built(path)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// built returns an error if the core is of another architecture or another build than
// the executable.
func (c *Core) built(path string) error {
	if c.machine != c.Program.ELF.Machine {
		return fmt.Errorf("target: core %s is of %v, %s is for %v: name the executable of the core with --binary",
			path, c.machine, c.Program.Path, c.Program.ELF.Machine)
	}
	for _, prog := range c.Program.ELF.Progs {
		if prog.Type != elf.PT_NOTE || prog.Filesz > maxNotes {
			continue
		}
		now, then := make([]byte, prog.Filesz), make([]byte, prog.Filesz)
		if _, err := prog.ReadAt(now, 0); err != nil {
			return fmt.Errorf("target: notes of %s: %w", c.Program.Path, err)
		}
		// A core without these pages cannot tell builds apart.
		if c.Read([]Range{{Addr: prog.Vaddr + c.Program.Bias, Data: then}}) == nil && !bytes.Equal(now, then) {
			return fmt.Errorf("target: core %s is of another build of %s: name the executable of the core with --binary",
				path, c.Program.Path)
		}
	}
	return nil
}

// Close closes the core and its executable.
func (c *Core) Close() error { return errors.Join(c.Program.Close(), c.file.Close()) }

// IsCore reports whether a file starts like an ELF core.
func IsCore(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [18]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && bytes.HasPrefix(head[:], []byte(elf.ELFMAG)) &&
		elf.Type(binary.LittleEndian.Uint16(head[16:])) == elf.ET_CORE
}

// errCut is wrapped in what is said about a core whose end is missing.
var errCut = errors.New("it is cut off: take it with 'ulimit -c unlimited' and room on the disk")

func (c *Core) read(file io.ReaderAt) error {
	f, err := elf.NewFile(file)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", errCut, err)
	}
	if err != nil {
		return err
	}
	if f.Type != elf.ET_CORE || f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		return errors.New("not a core of a 64-bit little-endian program")
	}
	c.machine = f.Machine
	for _, p := range f.Progs {
		switch {
		case p.Type == elf.PT_LOAD && p.Filesz > 0:
			c.segments = append(c.segments, p)
			if _, err := p.ReadAt(make([]byte, 1), int64(p.Filesz-1)); err != nil {
				c.Cut = fmt.Errorf("%w: memory at %#x is missing", errCut, p.Vaddr+p.Filesz-1)
			}
		case p.Type == elf.PT_NOTE && p.Filesz > maxNotes:
			return fmt.Errorf("notes of %d bytes", p.Filesz)
		case p.Type == elf.PT_NOTE:
			notes := make([]byte, p.Filesz)
			if _, err := p.ReadAt(notes, 0); err != nil {
				return fmt.Errorf("its notes are cut off: %w", err)
			}
			if err := c.notes(notes); err != nil {
				return err
			}
		}
	}
	sort.Slice(c.segments, func(i, j int) bool { return c.segments[i].Vaddr < c.segments[j].Vaddr })
	if len(c.segments) == 0 {
		return errors.New("it has no memory")
	}
	return nil
}

// Types of notes.
const (
	noteStatus = 1          // NT_PRSTATUS
	noteFiles  = 0x46494c45 // NT_FILE
)

func (c *Core) notes(b []byte) error {
	le := binary.LittleEndian
	for len(b) >= 12 {
		nameSize, size, kind := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:])), le.Uint32(b[8:])
		start := 12 + (nameSize+3)&^3
		end := start + (size+3)&^3
		if end > uint64(len(b)) {
			return errors.New("a note is cut off")
		}
		data := b[start : start+size]
		switch kind {
		case noteStatus:
			if r, ok := statusRegs(data, c.machine); ok {
				c.threads = append(c.threads, r)
			}
		case noteFiles:
			if err := c.noteFiles(data); err != nil {
				return err
			}
		}
		b = b[end:]
	}
	return nil
}

// statusRegs reads struct elf_prstatus.
func statusRegs(b []byte, machine elf.Machine) (Regs, bool) {
	const pid, regs = 32, 112
	n, pc, sp := 27, 16, 19 // amd64's user_regs_struct
	if machine == elf.EM_AARCH64 {
		n, pc, sp = 34, 32, 31
	}
	if len(b) < regs+8*n {
		return Regs{}, false
	}
	r := Regs{Thread: int(binary.LittleEndian.Uint32(b[pid:]))}
	for i := range n {
		r.General = append(r.General, binary.LittleEndian.Uint64(b[regs+8*i:]))
	}
	r.PC, r.SP = r.General[pc], r.General[sp]
	return r, true
}

func (c *Core) noteFiles(b []byte) error {
	if len(b) < 16 {
		return errors.New("its list of files is cut off")
	}
	le := binary.LittleEndian
	count, page := le.Uint64(b), le.Uint64(b[8:])
	b = b[16:]
	if count > uint64(len(b))/24 {
		return fmt.Errorf("it claims %d mapped files", count)
	}
	names := bytes.Split(b[24*count:], []byte{0})
	if uint64(len(names)) < count {
		return errors.New("its list of files is cut off")
	}
	for i := range count {
		c.Maps = append(c.Maps, Mapping{
			Start: le.Uint64(b[24*i:]), End: le.Uint64(b[24*i+8:]),
			Offset: le.Uint64(b[24*i+16:]) * page, File: string(names[i]),
		})
	}
	return nil
}

// executable returns the file of the first mapping that is mapped from its start and
// is a Go program, or why the first of them is none.
func (c *Core) executable() (string, error) {
	first := errors.New("it names none")
	for i, m := range c.Maps {
		if m.Offset != 0 {
			continue
		}
		p, err := OpenProgram(m.File, m.File)
		if err == nil {
			p.Close()
			return m.File, nil
		}
		if i == 0 {
			first = err
		}
	}
	return "", first
}

// setBias uses the list of files. If the executable has moved since the core was written, the
// first mapping at offset 0 decides.
func (c *Core) setBias() error {
	if err := c.Program.setBias(c.Maps); err == nil {
		return nil
	}
	for _, m := range c.Maps {
		if m.Offset == 0 {
			c.Program.Bias = m.Start - c.Program.first()
			return nil
		}
	}
	return fmt.Errorf("target: the core does not say where %s was loaded", c.Program.Path)
}

// first returns the address of the first loaded page.
func (p *Program) first() uint64 {
	for _, prog := range p.ELF.Progs {
		if prog.Type == elf.PT_LOAD {
			return prog.Vaddr &^ 0xfff
		}
	}
	return 0
}

// Threads implements Memory.
func (c *Core) Threads() ([]Regs, error) { return c.threads, nil }

// Read implements Memory. Cores leave out memory that is in files: it comes from the executable.
func (c *Core) Read(ranges []Range) error {
	for _, r := range ranges {
		if err := c.readOne(r); err != nil {
			return err
		}
	}
	return nil
}

func (c *Core) readOne(r Range) error {
	for len(r.Data) > 0 {
		i := sort.Search(len(c.segments), func(i int) bool {
			return c.segments[i].Vaddr+c.segments[i].Filesz > r.Addr
		})
		if i == len(c.segments) || c.segments[i].Vaddr > r.Addr {
			if c.Program != nil && c.Program.readStatic(r, true) {
				return nil
			}
			return fmt.Errorf("target: address %#x is not in the core", r.Addr)
		}
		s := c.segments[i]
		n := min(uint64(len(r.Data)), s.Vaddr+s.Filesz-r.Addr)
		if _, err := s.ReadAt(r.Data[:n], int64(r.Addr-s.Vaddr)); err != nil {
			return fmt.Errorf("target: the core is cut off at address %#x: %w", r.Addr, err)
		}
		r.Addr, r.Data = r.Addr+n, r.Data[n:]
	}
	return nil
}
