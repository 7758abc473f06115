// Command calendar expands recurring events, and writes and reads them as iCalendar.
package main

import (
	"fmt"
	"log"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"
	"github.com/teambition/rrule-go"
)

func main() {
	start := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	events := 0
	for person := range 90 {
		cal := ics.NewCalendar()
		for series := range 4 {
			rule, err := rrule.NewRRule(rrule.ROption{Freq: rrule.WEEKLY, Count: 60, Dtstart: start.AddDate(0, 0, person),
				Byweekday: []rrule.Weekday{rrule.MO, rrule.WE, rrule.FR}[:series%3+1]})
			if err != nil {
				log.Fatal(err)
			}
			for n, at := range rule.All() {
				e := cal.AddEvent(fmt.Sprintf("%d-%d-%d@example.org", person, series, n))
				e.SetStartAt(at)
				e.SetEndAt(at.Add(time.Hour))
				e.SetSummary(fmt.Sprintf("meeting %d of series %d", n, series))
				e.SetDescription(strings.Repeat("what will be talked about, ", 8))
			}
		}
		read, err := ics.ParseCalendar(strings.NewReader(cal.Serialize()))
		if err != nil {
			log.Fatal(err)
		}
		events += len(read.Events())
	}
	fmt.Println(events)
}
