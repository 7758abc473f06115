// Command letters writes e-mails with attachments, and reads them.
package main

import (
	"bytes"
	"fmt"
	"log"
	"strings"

	"github.com/jhillyerd/enmime"
)

func main() {
	size, kept := 0, []*enmime.Envelope{}
	for i := range 200 {
		text := strings.Repeat(fmt.Sprintf("Line %d of a letter that nobody reads.\n", i), 60)
		part, err := enmime.Builder().From("From", "from@example.org").To("To", "to@example.org").
			Subject(fmt.Sprintf("Letter %d, größer", i)).Text([]byte(text)).
			HTML([]byte("<p>"+strings.ReplaceAll(text, "\n", "</p>\n<p>")+"</p>")).
			AddAttachment(bytes.Repeat([]byte{byte(i), 7, 200}, 3000), "application/octet-stream", "data.bin").Build()
		if err != nil {
			log.Fatal(err)
		}
		var raw bytes.Buffer
		if err := part.Encode(&raw); err != nil {
			log.Fatal(err)
		}
		size += raw.Len()
		letter, err := enmime.ReadEnvelope(&raw)
		if err != nil {
			log.Fatal(err)
		}
		if i%5 == 0 {
			kept = append(kept, letter)
		}
	}
	fmt.Println(size, len(kept))
}
