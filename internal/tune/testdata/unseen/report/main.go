// Command report writes a PDF of 1,500 pages of tables.
package main

import (
	"fmt"
	"io"
	"log"

	"github.com/jung-kurt/gofpdf"
)

func main() {
	pdf := gofpdf.New("P", "mm", "A4", "")
	for page := range 1500 {
		pdf.AddPage()
		pdf.SetFont("Arial", "B", 16)
		pdf.Cell(40, 10, fmt.Sprintf("Orders, page %d", page))
		pdf.Ln(12)
		pdf.SetFont("Arial", "", 10)
		for row := range 35 {
			for column := range 5 {
				pdf.CellFormat(36, 7, fmt.Sprintf("%d.%d.%d", page, row, column), "1", 0, "L", false, 0, "")
			}
			pdf.Ln(-1)
		}
	}
	if err := pdf.Output(io.Discard); err != nil {
		log.Fatal(err)
	}
}
