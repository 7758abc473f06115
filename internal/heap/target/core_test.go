package target

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"strings"
	"testing"
)

// core builds a core file of one note segment and one of memory.
func core(notes, memory []byte) []byte {
	var b bytes.Buffer
	head := elf.Header64{Type: uint16(elf.ET_CORE), Machine: uint16(elf.EM_X86_64), Version: 1, Phoff: 64, Ehsize: 64,
		Phentsize: 56, Phnum: 2}
	copy(head.Ident[:], elf.ELFMAG)
	head.Ident[elf.EI_CLASS], head.Ident[elf.EI_DATA], head.Ident[elf.EI_VERSION] = 2, 1, 1
	binary.Write(&b, binary.LittleEndian, head)
	off := uint64(64 + 2*56)
	binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: off, Filesz: uint64(len(notes))})
	binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_LOAD), Off: off + uint64(len(notes)),
		Vaddr: 0x1000, Filesz: uint64(len(memory)), Memsz: uint64(len(memory))})
	b.Write(notes)
	b.Write(memory)
	return b.Bytes()
}

// note builds one note of a core.
func note(kind uint32, data []byte) []byte {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, []uint32{5, uint32(len(data)), kind})
	b.WriteString("CORE\x00\x00\x00\x00")
	b.Write(data)
	b.Write(make([]byte, -len(data)&3))
	return b.Bytes()
}

func files(start, end, offset uint64, name string) []byte {
	var b bytes.Buffer
	binary.Write(&b, binary.LittleEndian, []uint64{1, 4096, start, end, offset})
	b.WriteString(name + "\x00")
	return b.Bytes()
}

func readCore(data []byte) (*Core, error) {
	c := new(Core)
	return c, c.read(bytes.NewReader(data))
}

func TestCore(t *testing.T) {
	status := make([]byte, 336)
	binary.LittleEndian.PutUint32(status[32:], 77)
	binary.LittleEndian.PutUint64(status[112+8*16:], 0xabc)
	binary.LittleEndian.PutUint64(status[112+8*19:], 0xdef)
	notes := append(note(noteStatus, status), note(noteFiles, files(0x400000, 0x500000, 2, "/bin/x"))...)
	c, err := readCore(core(notes, []byte("0123456789abcdef")))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.threads) != 1 || c.threads[0].Thread != 77 || c.threads[0].PC != 0xabc || c.threads[0].SP != 0xdef {
		t.Errorf("threads are %+v", c.threads)
	}
	if len(c.Maps) != 1 || c.Maps[0] != (Mapping{Start: 0x400000, End: 0x500000, Offset: 8192, File: "/bin/x"}) {
		t.Errorf("mappings are %+v", c.Maps)
	}
	b := make([]byte, 6)
	if err := c.Read([]Range{{Addr: 0x100a, Data: b}}); err != nil || string(b) != "abcdef" {
		t.Errorf("read %q, %v", b, err)
	}
	for _, addr := range []uint64{0xfff, 0x100b, ^uint64(0)} {
		if err := c.Read([]Range{{Addr: addr, Data: b}}); err == nil {
			t.Errorf("%#x was read", addr)
		}
	}
}

func TestBrokenCores(t *testing.T) {
	good := core(note(noteFiles, files(1, 2, 3, "x")), []byte("memory"))
	for n := range len(good) - len("memory") {
		if c, err := readCore(good[:n]); err == nil && len(c.Maps) == 1 {
			t.Errorf("a core cut to %d of %d bytes was read", n, len(good))
		}
	}
	if _, err := readCore(good[:40]); err == nil || !strings.Contains(err.Error(), "it is cut off: ") {
		t.Errorf("a core cut to 40 bytes: %v", err)
	}
}

// TestCutCores: memory may be cut off. What is left can be read, and what is missing is said.
func TestCutCores(t *testing.T) {
	good := core(note(noteFiles, files(1, 2, 3, "x")), []byte("memory"))
	for left, want := range map[int]bool{0: false, 3: false, 6: true} {
		c, err := readCore(good[:len(good)-6+left])
		if err != nil {
			t.Fatal(err)
		}
		if whole := c.Cut == nil; whole != want {
			t.Errorf("%d bytes of memory left: %v", left, c.Cut)
		}
		if err := c.Read([]Range{{Addr: 0x1000, Data: make([]byte, left)}}); err != nil {
			t.Errorf("%d bytes left: %v", left, err)
		}
	}
}

// TestExecutableOfACore: one that has moved is named.
func TestExecutableOfACore(t *testing.T) {
	for file, want := range map[string]string{"/nowhere/x": "open /nowhere/x: ", "core_test.go": "not a Go program", "": "names none"} {
		c := new(Core)
		if file != "" {
			c.Maps = []Mapping{{File: file}, {File: "/nowhere/lib.so"}}
		}
		if _, err := c.executable(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
}

func FuzzCore(f *testing.F) {
	f.Add(core(note(noteFiles, files(1, 2, 3, "x")), []byte("memory")))
	f.Add(core(note(noteStatus, make([]byte, 336)), nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := readCore(data)
		if err != nil {
			return
		}
		b := make([]byte, 16)
		for _, s := range c.segments {
			c.Read([]Range{{Addr: s.Vaddr, Data: b}, {Addr: s.Vaddr + s.Filesz - 8, Data: b}})
		}
	})
}
