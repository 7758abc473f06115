// Package release stores a value that publishes earlier writes, and loads a value after
// earlier reads, at the minimum cost on each processor.
//
// sync/atomic has one kind of store. It is sequentially consistent: on amd64 a locked
// exchange, which waits until all earlier stores have reached the cache. Handing something
// over needs less: no earlier store may be seen after this one. A plain store guarantees
// that on amd64, whose processors keep stores in order, as the compiler does. Race builds
// and other architectures use the store of sync/atomic. The reader uses an atomic load.
//
// A later load may still be done before the store. So if two sides each store and then load
// what the other has stored, use sync/atomic.
package release
