// Command sheets writes a workbook and reads it back.
package main

import (
	"bytes"
	"fmt"
	"log"

	"github.com/xuri/excelize/v2"
)

func main() {
	book := excelize.NewFile()
	for row := range 9000 {
		cells := []any{row, fmt.Sprintf("article %d", row), float64(row) / 4, row%7 == 0}
		at, err := excelize.CoordinatesToCellName(1, row+1)
		if err == nil {
			err = book.SetSheetRow("Sheet1", at, &cells)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	var file bytes.Buffer
	if err := book.Write(&file); err != nil {
		log.Fatal(err)
	}
	read, err := excelize.OpenReader(&file)
	if err != nil {
		log.Fatal(err)
	}
	rows, err := read.GetRows("Sheet1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(rows))
}
