// Package release stores what publishes earlier writes, and loads what earlier
// reads depend on, at the price that the processor asks for.
//
// sync/atomic has one kind of store. It is sequentially consistent: on amd64 a
// locked exchange, which waits until all earlier stores have reached the cache.
// Whoever hands something over needs less: that no earlier store is seen after
// this one. A plain store does that on amd64, whose processors keep stores in
// order, as the compiler does. Race builds and other architectures use the store
// of sync/atomic. The reader uses an atomic load.
//
// A later load may still be done before the store. So where two sides store and
// then look at what the other has stored, use sync/atomic.
package release
