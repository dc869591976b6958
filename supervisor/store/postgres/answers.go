package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

func (s *sorter) addAnswer(a facts.AnswerFacts) error {
	a, err := rules.NormalAnswer(a)
	s.answers = append(s.answers, a)
	return err
}

// answerStatements add answers and delete the oldest.
func answerStatements(answers []facts.AnswerFacts) []statement {
	n := len(answers)
	latest := time.Time{}
	owners := []string{}
	for _, a := range answers {
		latest = rules.NotBefore(latest, a.At)
		owners = append(owners, a.User)
	}
	owners = slices.Compact(slices.Sorted(slices.Values(owners)))
	return []statement{
		{sql: sqlAddAnswers, args: []any{answers}, writes: n, lasting: true, what: "keeping answers"},
		{sql: sqlForgetOldAnswers, args: []any{n + rules.AnswersSwept, latest.Add(-rules.AnswersKept)}, writes: n,
			lenient: true, lasting: true, what: "forgetting old answers"},
		{sql: sqlForgetMoreAnswers, args: []any{owners, rules.AnswerPlaces}, writes: n, lenient: true,
			what: "forgetting an owner's surplus answers"},
	}
}

// Answer finds what a user's change under a key was answered.
func (p *Store) Answer(ctx context.Context, user, key string) (facts.AnswerFacts, bool, error) {
	return readOne(ctx, p.pool, "an answer", pgx.RowToStructByPos[facts.AnswerFacts], sqlAnswer, rules.Clean(user),
		rules.Clean(key))
}
