// Databases plants the memory of two databases: SQLite's cache in C's heap, and the file
// that bbolt maps. Like testdata/ledger, it applies a remedy if there is a second argument,
// prints how much it planted, and waits until its standard input ends.
package main

/*
#include <malloc.h>

// arenas returns how many bytes malloc's arenas have from the kernel.
static unsigned long arenas(void) { return mallinfo2().arena; }
*/
import "C"

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"unsafe"

	_ "github.com/mattn/go-sqlite3"
	"go.etcd.io/bbolt"
)

const planted = 32 << 20

var plants = map[string]func(remedied bool) (held uint64){
	// Two connections fill their caches in turn, then one is closed.
	"sqlite": func(remedied bool) uint64 {
		db := opened(sql.Open("sqlite3", "file:planted.db?_cache_size=-65536&_journal_mode=OFF&_synchronous=OFF"))
		const each, turn = 3000, 64 // bytes of a row, which has a page of 4096; rows read at a time
		rows := planted / 2 / 4096
		must(db.Exec("create table t (id integer primary key, b blob)"))
		tx := opened(db.Begin())
		for i := range rows {
			must(tx.Exec("insert into t values (?, zeroblob(?))", i, each))
		}
		must(nil, tx.Commit(), db.Close())
		db = opened(sql.Open("sqlite3", "file:planted.db?mode=ro&_cache_size=-65536"))
		db.SetMaxIdleConns(0)
		keeps, closes := opened(db.Conn(context.Background())), opened(db.Conn(context.Background()))
		for i := 0; i < rows; i += turn {
			for _, c := range []*sql.Conn{keeps, closes} {
				n := 0
				must(nil, c.QueryRowContext(context.Background(), "select sum(length(b)) from t where id >= ? and id < ?",
					i, i+turn).Scan(&n))
			}
		}
		must(nil, closes.Close())
		held := uint64(C.arenas())
		if remedied {
			C.malloc_trim(0)
		}
		kept = keeps
		return held
	},
	"bbolt": func(remedied bool) uint64 {
		db := opened(bbolt.Open("planted.bolt", 0o600, nil))
		db.AllocSize = 0 // no room beyond what is written
		must(nil, db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucket([]byte("b"))
			for i := range planted >> 20 {
				err = errors.Join(err, b.Put([]byte{byte(i)}, make([]byte, 1<<20-64)))
			}
			return err
		}), db.Close())
		db = opened(bbolt.Open("planted.bolt", 0o600, &bbolt.Options{ReadOnly: true}))
		sum := byte(0)
		must(nil, db.View(func(tx *bbolt.Tx) error {
			return tx.Bucket([]byte("b")).ForEach(func(_, v []byte) error {
				for i := 0; i < len(v); i += 4096 {
					sum += v[i]
				}
				return nil
			})
		}))
		info := opened(os.Stat("planted.bolt"))
		if remedied { // what the kernel does when memory is short
			mapped := unsafe.Slice((*byte)(unsafe.Pointer(db.Info().Data)), info.Size())
			must(nil, syscall.Madvise(mapped, syscall.MADV_DONTNEED))
		}
		kept = db
		debug.FreeOSMemory()
		return uint64(info.Size())
	},
}

var kept any

func opened[T any](v T, err error) T {
	must(v, err)
	return v
}

func must(_ any, all ...error) {
	if err := errors.Join(all...); err != nil {
		panic(err)
	}
}

func main() {
	runtime.LockOSThread() // main's thread has the arena that others do not
	fmt.Println("live", plants[os.Args[1]](len(os.Args) > 2), 0)
	io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(kept)
}
