// Command labels draws QR codes.
package main

import (
	"image/png"
	"log"
	"net/http"
	"os"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"
)

func main() {
	http.HandleFunc("/label", func(w http.ResponseWriter, r *http.Request) {
		code, err := qr.Encode("https://example.org/parcels/"+r.URL.RawQuery+"/0123456789", qr.M, qr.Auto)
		if err == nil {
			code, err = barcode.Scale(code, 120, 120)
		}
		if err == nil {
			err = png.Encode(w, code)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
