package postgres

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

var answerKeys = []string{"k1", "k2", "k3", "k4", "k5", "k6"}

func answerTo(user, key, body string, when time.Time) facts.PutAnswer {
	return facts.PutAnswer{Answer: facts.AnswerFacts{User: user, Key: key, Hash: bytes.Repeat([]byte{7}, 32),
		Body: body, At: when}}
}

// answer repeats a key now and then, which ends the term, and passes the time after which answers go.
func (g *generator) answer() facts.Write {
	w := answerTo("ann", rapid.SampledFrom(answerKeys).Draw(g.r, "key"), `{"n":1}`,
		at(float64(rapid.IntRange(0, 3).Draw(g.r, "half days"))*43_201))
	if g.odd() {
		w.Answer.Hash = nil
	}
	return w
}

func (p *pair) answer(from records, key string) any {
	a, known, err := from.Answer(ctx, "ann", key)
	return []any{a, known, err}
}

// An answer outlives its term, is never written twice, and is as durable as the rest of its batch.
func TestAnswersOutliveATerm(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		term := lead(t, s)
		put := answerTo("änn", "key", "{\"text\":\"\\u0000 ü\"}", at(1))
		commit(t, term, put, facts.PutShare{Share: facts.ShareFacts{Path: "ann", Shares: 1, At: at(1)}})
		term.Close(ctx)
		term = lead(t, s)
		got, known, err := s.Answer(ctx, "änn", "key")
		if err != nil || !known || diff(put.Answer, got) != "" {
			t.Errorf("got %+v, %v, %v", got, known, err)
		}
		for _, other := range [][2]string{{"ann", "key"}, {"änn", "Key"}, {"", ""}} {
			if _, known, err := s.Answer(ctx, other[0], other[1]); known || err != nil {
				t.Errorf("%q: %v, %v", other, known, err)
			}
		}
		if err := term.Commit(ctx,
			[]facts.Write{facts.PutShare{Share: facts.ShareFacts{Path: "ann", Shares: 5, At: at(1)}}, put}); err == nil {
			t.Error("a key was answered twice")
		}
		if got := load(t, lead(t, s)).Shares; len(got) != 1 || got[0].Shares != 1 {
			t.Errorf("what was refused is there: %+v", got)
		}
	})
}

// Answers go by age and by what their owner's later ones take, a large one counting for several; never those just
// added.
func TestAnswersAreForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, s both) {
		term := lead(t, s)
		known := func(key string) bool {
			_, known, err := s.Answer(ctx, "ann", key)
			if err != nil {
				t.Fatal(err)
			}
			return known
		}
		day := rules.AnswersKept.Seconds()
		commit(t, term, answerTo("ann", "old", "{}", at(0)), answerTo("ann", "young", "{}", at(100)))
		commit(t, term, answerTo("ann", "next", "{}", at(day+50)))
		if known("old") || !known("young") || !known("next") {
			t.Errorf("after a day: old %v, young %v, next %v", known("old"), known("young"), known("next"))
		}
		many := make([]facts.Write, rules.AnswerPlaces-10)
		for n := range many {
			many[n] = answerTo("ann", fmt.Sprint(n), "{}", at(day+51))
		}
		commit(t, term, many...)
		if !known("young") {
			t.Error("forgotten though fewer than 10,000 places follow")
		}
		commit(t, term, answerTo("ann", "large", strings.Repeat("x", 20*rules.AnswerPlace), at(day+52)))
		if known("young") || known("next") || !known("large") {
			t.Errorf("10,000 places later: young %v, next %v, large %v", known("young"), known("next"), known("large"))
		}
	})
}
