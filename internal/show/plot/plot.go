// Package plot draws the sections of an analysis as static SVG.
//
// A [Plot] is one or more panels with a legend, a caption and a table of the
// same figures. Plots set no colours: their classes refer to the style sheet of
// package page, so that a plot follows light and dark. Text is escaped. A
// function returns nil if the section has nothing to show.
//
// The functions are pure and may be called from several goroutines.
package plot

import (
	"html/template"

	"github.com/isobar-go/isobar/internal/show/text"
)

// A Plot is one or more panels with a common legend, caption and data table.
type Plot struct {
	ID, Title, Section, Caption string
	Wide                        bool // takes the full width of the page
	Pairs                       bool // panels are in two columns
	Panels                      []Panel
	Legend                      []Legend
	Table                       text.Table
	// From, To and Whole say which part of the whole time is shown, in
	// milliseconds; all are 0 if there is nothing to choose.
	From, To, Whole float64
}

type Panel struct {
	Title string
	SVG   template.HTML
}

type Legend struct {
	Swatch template.HTML
	Name   string
}
