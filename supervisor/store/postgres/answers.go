package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/facts"
	"qb/supervisor/store/rules"
)

func (s *sorter) addAnswer(a facts.AnswerFacts) error {
	a, err := rules.NormalAnswer(a)
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
		latest = rules.NotBefore(latest, a.At)
	}
	return append(list,
		statement{sql: sqlAddAnswers, args: []any{owner, key, hash, body, at}, want: n, what: "keeping answers"},
		statement{sql: sqlForgetOldAnswers, args: []any{n + rules.AnswersSwept, latest.Add(-rules.AnswersKept)}, want: anyRows, what: "forgetting old answers"},
		statement{sql: sqlForgetMoreAnswers, args: []any{owners(owner), rules.AnswerPlaces}, want: anyRows, what: "forgetting an owner's surplus answers"})
}

func owners(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func scanAnswer(row pgx.CollectableRow) (a facts.AnswerFacts, err error) {
	err = row.Scan(&a.User, &a.Key, &a.Hash, &a.Body, &a.At)
	a.At = rules.Exact(a.At)
	return a, err
}

// Answer finds what a user's change under a key was answered.
func (p *Store) Answer(ctx context.Context, user, key string) (facts.AnswerFacts, bool, error) {
	rows, err := p.pool.Query(ctx, sqlAnswer, rules.Clean(user), rules.Clean(key))
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
