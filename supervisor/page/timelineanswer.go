package page

import (
	"cmp"
	"maps"
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

// TimelineQuery is what is asked for; zero members stand for the last hour, and a step that gives a few hundred points.
type TimelineQuery struct {
	From, To time.Time
	Step     time.Duration
	By       string // job, user or account
}

// Complete fills in what is left out; fault says what is wrong.
func (q *TimelineQuery) Complete(now time.Time) (fault string) {
	if q.To.IsZero() || q.To.After(now) {
		q.To = now
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-time.Hour)
	}
	q.From = q.From.Truncate(Every)
	switch span := q.To.Sub(q.From); {
	case span <= 0:
		return "from: the time is not before to"
	case span > 8*24*time.Hour:
		return "from: more than eight days before to; a week is remembered"
	case q.Step < 0:
		return "step: the duration is negative; use 0 or more"
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
}

func newSums(series api.TimelineSeries, points int) *sums {
	return &sums{series, make([]float64, points), make([]float64, points)}
}

// Of is the means of each point. The query is settled. What is remembered is copied first, so that a long answer keeps
// no commit waiting in Note; samples themselves never change.
func (t *Timeline) Of(q TimelineQuery) api.TimelineReply {
	t.mu.Lock()
	now := &Timeline{
		fine: line{samples: slices.Clone(t.fine.samples)}, coarse: line{samples: slices.Clone(t.coarse.samples)},
		owners: maps.Clone(t.owners), marks: slices.Clone(t.marks),
	}
	t.mu.Unlock()
	return now.answer(q)
}

func (t *Timeline) answer(q TimelineQuery) api.TimelineReply {
	width, first := ticks(q.Step), tickOf(q.From)
	points := int((tickOf(q.To)-first)/width) + 1
	r := api.TimelineReply{From: q.From.UTC(), Step: int(q.Step / time.Second), By: q.By, Samples: make([]int, points),
		Series: []api.TimelineSeries{}, Marks: []api.TimelineMark{}}
	source := &t.fine
	if q.Step >= Coarse && (len(t.fine.samples) == 0 || t.fine.samples[0].tick > first) {
		source = &t.coarse
	}
	within := func(visit func(point int, s sample)) {
		for _, s := range source.samples {
			if point := int((s.tick - first) / width); s.tick >= first && point < points {
				visit(point, s)
			}
		}
	}
	totals := map[string]float64{}
	within(func(point int, s sample) {
		r.Samples[point]++
		for _, e := range s.entries {
			totals[t.keyOf(e.job, q.By)] += float64(e.primary) + float64(e.secondary)
		}
	})
	shown, of := t.largest(totals, q.By, points)
	within(func(point int, s sample) {
		for _, e := range s.entries {
			sum := of[t.keyOf(e.job, q.By)]
			if sum == nil {
				sum = shown[len(shown)-1]
			}
			sum.primary[point] += float64(e.primary)
			sum.secondary[point] += float64(e.secondary)
		}
	})
	for _, sum := range shown {
		r.Series = append(r.Series, sum.means(r.Samples))
	}
	r.Entries = len(totals)
	r.Marks = t.marksOf(q, first, width, points)
	return r
}

// keyOf is by what a job is added up.
func (t *Timeline) keyOf(job uint32, by string) string {
	switch by {
	case "user":
		return t.owners[job].user
	case "account":
		return t.owners[job].account
	}
	return strconv.FormatUint(uint64(job), 10)
}

// largest makes room for the sums of the largest entries, by key and in order; what has no place of its own goes to the
// last, which has no key. Only these have a number for each point: a day may have a hundred thousand jobs.
func (t *Timeline) largest(totals map[string]float64, by string, points int) (shown []*sums, of map[string]*sums) {
	keys := slices.SortedFunc(maps.Keys(totals), func(a, b string) int {
		return cmp.Or(cmp.Compare(totals[b], totals[a]), cmp.Compare(a, b))
	})
	of = map[string]*sums{}
	for _, key := range keys[:min(Series, len(keys))] {
		series := api.TimelineSeries{Key: key}
		if by != "user" && by != "account" {
			job, _ := strconv.ParseUint(key, 10, 32)
			series.Name = t.owners[uint32(job)].name
		}
		of[key] = newSums(series, points)
		shown = append(shown, of[key])
	}
	if others := len(keys) - len(shown); others > 0 {
		shown = append(shown, newSums(api.TimelineSeries{Others: others}, points))
	}
	return shown, of
}

// means divides by the samples of each point.
func (s *sums) means(samples []int) api.TimelineSeries {
	for n, count := range samples {
		if count > 0 {
			s.primary[n] = math.Round(10*s.primary[n]/float64(count)) / 10
			s.secondary[n] = math.Round(10*s.secondary[n]/float64(count)) / 10
		}
	}
	s.series.Primary, s.series.Secondary = s.primary, s.secondary
	return s.series
}

// marksOf are the marks by point, entry and kind, in order; the newest if they are too many.
func (t *Timeline) marksOf(q TimelineQuery, first, width int64, points int) []api.TimelineMark {
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
		counts[place{point, t.keyOf(uint32(m.job), q.By), m.kind}] += m.count
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
