// Command payslips writes a PDF file of tables.
package main

import (
	"bytes"
	"fmt"
	"log"

	"github.com/jung-kurt/gofpdf"
)

func main() {
	total := 0
	for month := range 12 {
		pdf := gofpdf.New("P", "mm", "A4", "")
		pdf.SetFont("Helvetica", "", 10)
		for person := range 20 {
			pdf.AddPage()
			pdf.Cell(0, 8, fmt.Sprintf("Payslip %d of employee %d", month+1, person))
			pdf.Ln(10)
			for line := range 30 {
				pdf.CellFormat(80, 6, fmt.Sprintf("Item %d", line), "1", 0, "L", false, 0, "")
				pdf.CellFormat(40, 6, fmt.Sprintf("%.2f", float64(line*person)/4), "1", 1, "R", false, 0, "")
			}
		}
		var file bytes.Buffer
		if err := pdf.Output(&file); err != nil {
			log.Fatal(err)
		}
		total += file.Len()
	}
	fmt.Println(total)
}
