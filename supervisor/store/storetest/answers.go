package storetest

import (
	"context"
	"fmt"
	"time"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

// memoryAnswers are the rows of answer, the oldest first.
type memoryAnswers []placedAnswer

type placedAnswer struct {
	facts.AnswerFacts
	place int64
}

func (m *Memory) addAnswer(a facts.AnswerFacts, undo *undoLog) error {
	a, err := rules.NormalAnswer(a)
	if err != nil {
		return err
	}
	place := int64(0)
	for _, old := range m.answers {
		if old.User == a.User && old.Key == a.Key {
			return fmt.Errorf("the key %q of %q has an answer", a.Key, a.User)
		}
		if old.User == a.User {
			place = old.place
		}
	}
	save(undo, &m.answers)
	m.answers = append(m.answers, placedAnswer{a, place + 1 + int64(len(a.Body)/rules.AnswerPlace)})
	return nil
}

// forgetAnswers comes at the end of a batch that added some.
func (m *Memory) forgetAnswers(writes []facts.Write) {
	var latest time.Time
	n, last := 0, map[string]int64{}
	for _, w := range writes {
		if w, ok := w.(facts.PutAnswer); ok {
			latest = rules.NotBefore(latest, rules.Exact(w.Answer.At))
			n++
			last[rules.Clean(w.Answer.User)] = 0
		}
	}
	if n == 0 {
		return
	}
	for _, a := range m.answers {
		if _, added := last[a.User]; added {
			last[a.User] = a.place
		}
	}
	var kept memoryAnswers
	swept := 0
	for _, a := range m.answers {
		old := a.At.Before(latest.Add(-rules.AnswersKept)) && swept < n+rules.AnswersSwept
		if old {
			swept++
		}
		place, added := last[a.User]
		if !old && !(added && a.place <= place-rules.AnswerPlaces) {
			kept = append(kept, a)
		}
	}
	m.answers = kept
}

// Answer finds what a user's change under a key was answered.
func (m *Memory) Answer(_ context.Context, user, key string) (facts.AnswerFacts, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.answers {
		if a.User == rules.Clean(user) && a.Key == rules.Clean(key) {
			return a.AnswerFacts, true, nil
		}
	}
	return facts.AnswerFacts{}, false, nil
}
