package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
)

// How long answers are kept, and how many of one owner: see table answer.
const (
	answersKept  = 24 * time.Hour
	answerPlaces = 10_000
	answerPlace  = 16 << 10 // bytes; the SQL has it too
	answersSwept = 100      // looked at beyond as many as are added
)

func normalAnswer(a facts.AnswerFacts) (facts.AnswerFacts, error) {
	a.User, a.Key, a.Body, a.At = clean(a.User), clean(a.Key), clean(a.Body), exact(a.At)
	if a.Key == "" || len(a.Hash) != 32 || a.At.IsZero() {
		return a, fmt.Errorf("the answer to key %q of %q at %v has a hash of %d bytes; it must have a key, a time and a SHA-256", a.Key, a.User, a.At, len(a.Hash))
	}
	return a, nil
}

func (s *sorter) addAnswer(a facts.AnswerFacts) error {
	a, err := normalAnswer(a)
	s.answers = append(s.answers, a)
	return err
}

// appendAnswers adds them and lets the oldest go.
func appendAnswers(list []statement, answers []facts.AnswerFacts) []statement {
	n := len(answers)
	if n == 0 {
		return list
	}
	owner, key, body := make([]string, n), make([]string, n), make([]string, n)
	hash, at := make([][]byte, n), make([]time.Time, n)
	var latest time.Time
	for i, a := range answers {
		owner[i], key[i], body[i], hash[i], at[i] = a.User, a.Key, a.Body, a.Hash, a.At
		latest = notBefore(latest, a.At)
	}
	return append(list,
		statement{sql: sqlAddAnswers, args: []any{owner, key, hash, body, at}, want: n, what: "keeping answers"},
		statement{sql: sqlForgetOldAnswers, args: []any{n + answersSwept, latest.Add(-answersKept)}, want: anyRows, what: "forgetting old answers"},
		statement{sql: sqlForgetMoreAnswers, args: []any{owners(owner), answerPlaces}, want: anyRows, what: "forgetting an owner's surplus answers"})
}

func owners(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func scanAnswer(row pgx.CollectableRow) (a facts.AnswerFacts, err error) {
	err = row.Scan(&a.User, &a.Key, &a.Hash, &a.Body, &a.At)
	a.At = exact(a.At)
	return a, err
}

// Answer finds what a user's change under a key was answered.
func (p *Postgres) Answer(ctx context.Context, user, key string) (facts.AnswerFacts, bool, error) {
	rows, err := p.pool.Query(ctx, sqlAnswer, clean(user), clean(key))
	if err != nil {
		return facts.AnswerFacts{}, false, fmt.Errorf("reading an answer: %w", err)
	}
	a, err := pgx.CollectExactlyOneRow(rows, scanAnswer)
	if errors.Is(err, pgx.ErrNoRows) {
		return facts.AnswerFacts{}, false, nil
	}
	if err != nil {
		return facts.AnswerFacts{}, false, fmt.Errorf("reading an answer: %w", err)
	}
	return a, true, nil
}

// memoryAnswers are the rows of answer, the oldest first.
type memoryAnswers []placedAnswer

type placedAnswer struct {
	facts.AnswerFacts
	place int64
}

func (m *Memory) addAnswer(a facts.AnswerFacts, undo *undoLog) error {
	a, err := normalAnswer(a)
	if err != nil {
		return err
	}
	n, place := len(m.answers), int64(0)
	for _, old := range m.answers {
		if old.User == a.User && old.Key == a.Key {
			return fmt.Errorf("the key %q of %q has an answer", a.Key, a.User)
		}
		if old.User == a.User {
			place = old.place
		}
	}
	undo.add(func() { m.answers = m.answers[:n] })
	m.answers = append(m.answers, placedAnswer{a, place + 1 + int64(len(a.Body)/answerPlace)})
	return nil
}

// forgetAnswers comes at the end of a batch that added some.
func (m *Memory) forgetAnswers(writes []facts.Write) {
	var latest time.Time
	n, last := 0, map[string]int64{}
	for _, w := range writes {
		if w, ok := w.(facts.PutAnswer); ok {
			latest = notBefore(latest, exact(w.Answer.At))
			n++
			last[clean(w.Answer.User)] = 0
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
		old := a.At.Before(latest.Add(-answersKept)) && swept < n+answersSwept
		if old {
			swept++
		}
		place, added := last[a.User]
		if !old && !(added && a.place <= place-answerPlaces) {
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
		if a.User == clean(user) && a.Key == clean(key) {
			return a.AnswerFacts, true, nil
		}
	}
	return facts.AnswerFacts{}, false, nil
}
