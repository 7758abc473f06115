// Command workbook writes a spreadsheet, and reads it again.
package main

import (
	"bytes"
	"fmt"
	"log"

	"github.com/xuri/excelize/v2"
)

func main() {
	book := excelize.NewFile()
	defer book.Close()
	for row := 1; row <= 12000; row++ {
		cells := []any{row, fmt.Sprintf("buyer %d", row%97), float64(row) * 1.5, row%3 == 0, "a note about this row"}
		if err := book.SetSheetRow("Sheet1", fmt.Sprintf("A%d", row), &cells); err != nil {
			log.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := book.Write(&out); err != nil {
		log.Fatal(err)
	}
	for range 3 {
		again, err := excelize.OpenReader(bytes.NewReader(out.Bytes()))
		if err != nil {
			log.Fatal(err)
		}
		rows, err := again.GetRows("Sheet1")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(rows))
		again.Close()
	}
}
