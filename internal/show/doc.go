// Package show is the wing that shows an analysis to people and to programs.
//
// In: the analysis of a run (package stat), the facts of the run, a ledger of claims. Out:
// package text writes sentences, terminal tables, Markdown and JSON; package plot draws SVG
// plots, each with its table; package page makes HTML pages of both. A figure reads the
// same everywhere. Nothing here measures, decides or opens a store.
//
// Imports: base, kit, lab.
package show
