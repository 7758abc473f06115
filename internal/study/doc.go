// Package study is the wing of the five source documents.
//
// In: the documents' assertions and code. Out: a ledger of which assertions hold. Package
// claim has each assertion as data: the quotation, an experiment in the terms of the lab,
// and a test of its records. Package exhibit has workloads that restate a document, faults
// included; package ingress has the ways to pass tasks to an event loop that one document
// compares; package modes has the matrices of another. The lab measures.
//
// Imports: base, kit, gc, lab, show.
package study
