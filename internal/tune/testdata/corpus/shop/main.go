// Command shop answers searches of a catalogue in JSON.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/gin-gonic/gin"
)

type article struct {
	ID    int
	Name  string
	Price float64
	Tags  map[string]string
}

func main() {
	var catalogue []article
	for i := range 40_000 {
		catalogue = append(catalogue, article{i, fmt.Sprintf("article %d of kind %d", i, i%53), float64(i%997) / 4,
			map[string]string{"kind": fmt.Sprint(i % 53), "stock": fmt.Sprint(i % 11)}})
	}
	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	router.GET("/search", func(c *gin.Context) {
		want := "kind " + c.Query("kind")
		out := []gin.H{}
		for _, a := range catalogue[:4000] {
			if strings.HasSuffix(a.Name, want) {
				out = append(out, gin.H{"id": a.ID, "name": strings.ToUpper(a.Name), "price": a.Price, "tags": a.Tags})
			}
		}
		c.JSON(http.StatusOK, out)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], router))
}
