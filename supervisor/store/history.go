package store

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"qb/supervisor/job/facts"
)

// HistoryPage chooses lines of a job's history: the newest of all, the newest before a place, or the oldest after one.
type HistoryPage struct {
	Before, After HistoryCursor // at most one of them is not zero
	Limit         int           // 0 or more than MaxPage: MaxPage
}

// HistoryLine is a line of a job's history.
type HistoryLine struct {
	facts.EventFacts
	Place HistoryCursor
}

// HistoryCursor orders the lines of a job's history.
type HistoryCursor struct {
	At     time.Time // to the microsecond
	Rank   int       // of its kind among what happened in one commit
	Turn   int64     // the event's number, or the item
	Number int       // of the attempt
}

// Compare is negative if the line at p comes before the one at q.
func (p HistoryCursor) Compare(q HistoryCursor) int {
	return cmp.Or(p.At.Compare(q.At), cmp.Compare(p.Rank, q.Rank), cmp.Compare(p.Turn, q.Turn),
		cmp.Compare(p.Number, q.Number))
}

const (
	placeFormat = "%d.%d.%d.%d"
	lastYear    = 9999 // what no column of the database can hold is no place
)

// String is the place as ParseHistoryPlace reads it.
func (p HistoryCursor) String() string {
	return fmt.Sprintf(placeFormat, p.At.UnixMicro(), p.Rank, p.Turn, p.Number)
}

// ParseHistoryPlace reads a place; the empty text is the zero one.
func ParseHistoryPlace(text string) (p HistoryCursor, err error) {
	if text == "" {
		return p, nil
	}
	var micros int64
	_, err = fmt.Sscanf(text, placeFormat, &micros, &p.Rank, &p.Turn, &p.Number)
	p.At = time.UnixMicro(micros).UTC()
	stored := micros >= 0 && p.At.Year() <= lastYear && p.Rank >= 0 && p.Rank <= math.MaxInt32 && p.Number >= 0 &&
		p.Number <= math.MaxInt32
	if err != nil || !stored || p.String() != text {
		return HistoryCursor{}, fmt.Errorf("%.40q is no line of a history", text)
	}
	return p, nil
}
