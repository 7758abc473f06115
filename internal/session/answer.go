package session

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/isobar-go/isobar/internal/lab/store"
	"github.com/isobar-go/isobar/internal/show/page"
	"github.com/isobar-go/isobar/internal/show/text"
	"github.com/isobar-go/isobar/internal/tune"
)

// showAnswer adds a tuned run's answer to a page, and returns its sentences.
func showAnswer(p *page.Run, run store.Run, data []byte) ([]string, error) {
	if data[0] != '{' { // version 0.1.0 stored sentences
		return strings.Split(string(data), "\n"), nil
	}
	r := &tune.Answer{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("report: answer of run %d: %w", run.ID, err)
	}
	p.Search, p.Procs = r.Search(), r.ProcsMap()
	if head, rows := r.PodTable(); len(rows) > 0 {
		p.Pods = &text.Table{Label: "Pods", Left: len(head), Head: head}
		for _, row := range rows {
			p.Pods.Add(row...)
		}
	}
	if r.Deploys() {
		files, err := r.Deploy()
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			p.Files = append(p.Files, page.File(f))
		}
	}
	return r.Lines(), nil
}
