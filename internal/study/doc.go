// Package study is the wing of the five source documents.
//
// In: what they assert, and their code. Out: a ledger that says what holds. Package
// claim has each assertion as data: the quotation, an experiment in the words of
// the lab, and a test of its records. Package exhibit has workloads that restate a
// document, faults included; package ingress has the ways to hand tasks to an event
// loop that one of them compares; package modes the matrices of another. Measuring is
// the lab's.
//
// Imports: base, kit, gc, lab, show.
package study
