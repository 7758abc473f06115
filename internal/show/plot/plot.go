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
)

// A Plot is one or more panels with a common legend, caption and data table.
type Plot struct {
	ID, Title, Section, Caption string
	Wide                        bool // takes the full width of the page
	Pairs                       bool // panels are in two columns
	Panels                      []Panel
	Legend                      []Legend
	Table                       Table
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

// A Table has text in the first Left columns and figures in the others. Label
// names its scroll region and is unique in the page.
type Table struct {
	Label string
	Head  []string
	Left  int
	Rows  [][]Cell
}

// A Cell is a cell of a table. Link is the target of a click, "" for none.
type Cell struct{ Text, Class, Link string }

// Class returns the CSS class of a column's heading.
func (t *Table) Class(column int) string {
	if column < t.Left {
		return "text"
	}
	return ""
}

func (t *Table) Add(cells ...string) {
	row := make([]Cell, len(cells))
	for i, text := range cells {
		row[i] = Cell{Text: text, Class: t.Class(i)}
	}
	t.Rows = append(t.Rows, row)
}
