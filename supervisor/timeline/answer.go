package timeline

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"qb/api"
)

// Points is the most points of an answer, Series the most entries that have a series of their own.
const (
	Points   = 1000
	Series   = 20
	mostTold = 1000 // marks
)

// Query is what is asked for; zero members stand for the last hour, and a step that gives a few hundred points.
type Query struct {
	From, To time.Time
	Step     time.Duration
	By       string // job, user or account
}

// Settle fills in what is left out; fault says what is wrong.
func (q *Query) Settle(now time.Time) (fault string) {
	if q.To.IsZero() || q.To.After(now) {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-time.Hour)
	}
	q.From = q.From.Truncate(Every)
	switch span := q.To.Sub(q.From); {
	case span <= 0:
		return "from: it is not before to"
	case span > 8*24*time.Hour:
		return "from: more than eight days before to; a week is remembered"
	case q.Step < 0:
		return "step: it is negative"
	case q.Step == 0:
		q.Step = span / 300
	case span/q.Step > Points:
		return "step: more than 1,000 points; give a longer one"
	}
	least := Every
	if q.From.Before(now.Add(-day)) {
		least = Coarse
	}
	q.Step = max(least, (q.Step+least-1)/least*least)
	return ""
}

// sums are the instances of one entry of the answer, added up for each point.
type sums struct {
	series             api.TimelineSeries
	primary, secondary []float64
	total              float64
}

// Of is the means of each point. The query is settled.
func (t *Timeline) Of(q Query) api.TimelineReply {
	t.mu.Lock()
	defer t.mu.Unlock()
	width, first := ticks(q.Step), tickOf(q.From)
	points := int((tickOf(q.To)-first)/width) + 1
	r := api.TimelineReply{From: q.From.UTC(), Step: int(q.Step / time.Second), By: q.By, Samples: make([]int, points), Series: []api.TimelineSeries{}, Marks: []api.TimelineMark{}}
	source := &t.fine
	if q.Step >= Coarse && (len(t.fine.samples) == 0 || t.fine.samples[0].tick > first) {
		source = &t.coarse
	}
	all := map[string]*sums{}
	for _, s := range source.samples {
		point := int((s.tick - first) / width)
		if s.tick < first || point >= points {
			continue
		}
		r.Samples[point]++
		for _, e := range s.entries {
			of := t.sumsOf(all, e.job, q.By, points)
			of.primary[point] += float64(e.primary)
			of.secondary[point] += float64(e.secondary)
			of.total += float64(e.primary) + float64(e.secondary)
		}
	}
	r.Series, r.Entries = meansOf(all, r.Samples, points), len(all)
	r.Marks = t.marksOf(q, first, width, points)
	return r
}

// sumsOf is where a job is added to.
func (t *Timeline) sumsOf(all map[string]*sums, job uint32, by string, points int) *sums {
	who := t.owners[job]
	key, series := strconv.FormatUint(uint64(job), 10), api.TimelineSeries{Name: who.name}
	switch by {
	case "user":
		key, series = who.user, api.TimelineSeries{}
	case "account":
		key, series = who.account, api.TimelineSeries{}
	}
	of := all[key]
	if of == nil {
		series.Key = key
		of = &sums{series: series, primary: make([]float64, points), secondary: make([]float64, points)}
		all[key] = of
	}
	return of
}

// meansOf divides by the samples of each point. The largest entries come first; what has no place is the last, without a key.
func meansOf(all map[string]*sums, samples []int, points int) []api.TimelineSeries {
	list := make([]*sums, 0, len(all))
	for _, of := range all {
		list = append(list, of)
	}
	slices.SortFunc(list, func(a, b *sums) int {
		return cmp.Or(cmp.Compare(b.total, a.total), cmp.Compare(a.series.Key, b.series.Key))
	})
	if len(list) > Series {
		rest := &sums{series: api.TimelineSeries{Others: len(list) - Series}, primary: make([]float64, points), secondary: make([]float64, points)}
		for _, of := range list[Series:] {
			for n := range points {
				rest.primary[n] += of.primary[n]
				rest.secondary[n] += of.secondary[n]
			}
		}
		list = append(list[:Series], rest)
	}
	means := func(sums []float64) []float64 {
		for n, count := range samples {
			if count > 0 {
				sums[n] = math.Round(10*sums[n]/float64(count)) / 10
			}
		}
		return sums
	}
	out := make([]api.TimelineSeries, 0, len(list))
	for _, of := range list {
		of.series.Primary, of.series.Secondary = means(of.primary), means(of.secondary)
		out = append(out, of.series)
	}
	return out
}

// marksOf are the marks by point, entry and kind, in order; the newest if they are too many.
func (t *Timeline) marksOf(q Query, first, width int64, points int) []api.TimelineMark {
	type place struct {
		point     int
		key, kind string
	}
	counts := map[place]int{}
	for _, m := range t.marks {
		point := int((m.tick - first) / width)
		if m.tick < first || point >= points {
			continue
		}
		key := strconv.FormatInt(int64(m.job), 10)
		if q.By == "user" {
			key = t.owners[uint32(m.job)].user
		} else if q.By == "account" {
			key = t.owners[uint32(m.job)].account
		}
		counts[place{point, key, m.kind}] += m.count
	}
	out := make([]api.TimelineMark, 0, len(counts))
	for p, n := range counts {
		out = append(out, api.TimelineMark{Point: p.point, Key: p.key, Kind: p.kind, Count: n})
	}
	slices.SortFunc(out, func(a, b api.TimelineMark) int {
		return cmp.Or(cmp.Compare(a.Point, b.Point), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Kind, b.Kind))
	})
	return out[max(0, len(out)-mostTold):]
}
