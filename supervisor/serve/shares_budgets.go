package serve

import (
	"cmp"
	"context"
	"time"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/access/gate"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/store"
	"qb/supervisor/wire/translate"
)

// looked is what a question to the farm finds.
func looked[T any](ctx context.Context, s *backend, ask func(m term.Machine, now time.Time) []T) ([]T, error) {
	list, err := look(ctx, s, ask)
	return list[:min(len(list), store.MaxPage)], err
}

func (s *shareService) listBudgets(ctx context.Context, _ *nothing) (*jsonOf[[]api.Budget], error) {
	list, err := looked(ctx, s.backend, term.Machine.Budgets)
	return listed(list, err, func(o accounting.ExceededBudget) api.Budget {
		b := translate.Budget(o.BudgetFacts)
		b.Used, b.Until = o.Total, translate.BudgetEnd(o)
		return b
	})
}

func (s *shareService) setBudget(ctx context.Context, in *keyed[api.Budget]) (*jsonOf[api.Budget], error) {
	b := in.Body
	switch {
	case b.Remove:
		b = api.Budget{Path: b.Path, Remove: true}
	case !(b.Seconds > 0):
		return nil, problem.Invalid("budget_seconds", "%v; use more than 0, or remove the budget", b.Seconds)
	case b.Over == "":
		b.Over = accounting.BeyondWait
	}
	period, err := translate.Period(b.Per)
	if err := cmp.Or(translate.CheckName("path", b.Path), err); err != nil {
		return nil, err
	}
	list, err := looked(ctx, s.backend, term.Machine.Budgets)
	if err != nil {
		return nil, err
	}
	before := before(list, func(o accounting.ExceededBudget) api.Budget {
		return translate.Budget(o.BudgetFacts)
	}, func(o accounting.ExceededBudget) bool { return o.Path == b.Path })
	audit.Of(ctx).Changes("budget "+b.Path, before, b)
	return changed(ctx, s.backend, api.SetBudget, in.Key, in,
		accounting.BudgetSet{Path: b.Path, Amount: b.Seconds, Period: period, Beyond: b.Over}, translate.Budget)
}

func (s *shareService) listPublications(ctx context.Context, _ *nothing) (*jsonOf[[]api.Publication], error) {
	list, err := looked(ctx, s.backend, func(m term.Machine, _ time.Time) []facts.PublicationFacts {
		return m.Publications()
	})
	return listed(list, err, translate.Publication)
}

// reportPublication takes a report of the caller; it gives nothing before an operator accepts it.
func (s *shareService) reportPublication(ctx context.Context,
	in *keyed[api.Publication]) (*jsonOf[api.Publication], error) {
	user := gate.PrincipalOf(ctx).User
	if err := cmp.Or(translate.CheckUser(user), translate.CheckName("source", in.Body.Source)); err != nil {
		return nil, err
	}
	change := accounting.PublicationReported{Owner: user, Source: in.Body.Source}
	if in.Body.Date != nil {
		change.Date = *in.Body.Date
	}
	audit.Of(ctx).Changes("publication "+in.Body.Source, nil, in.Body)
	return changed(ctx, s.backend, api.Report, in.Key, in, change, translate.Publication)
}

func (s *shareService) decidePublication(ctx context.Context,
	in *keyed[api.Decision]) (*jsonOf[api.Publication], error) {
	if err := translate.CheckName("source", in.Body.Source); err != nil {
		return nil, err
	}
	audit.Of(ctx).Changes("publication "+in.Body.Source, map[string]string{"state": accounting.Reported}, in.Body)
	change := accounting.PublicationDecided{Source: in.Body.Source, Accept: in.Body.Accept, Amount: in.Body.Amount}
	return changed(ctx, s.backend, api.Decide, in.Key, in, change, translate.Publication)
}

type addCreditsIn struct {
	Key  string       `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
	Body []api.Credit `maxItems:"1000"`
}

func (s *shareService) addCredits(ctx context.Context, in *addCreditsIn) (*jsonOf[[]api.Credit], error) {
	var change accounting.CreditsAdded
	for n, c := range in.Body {
		if err := cmp.Or(translate.CheckUser(c.User), translate.CheckName("source", c.Source)); err != nil {
			return nil, api.Errorf(api.KindInvalid, "entry %d: %v; nothing was taken", n+1, err)
		}
		change.List = append(change.List, creditOf(c))
	}
	audit.Of(ctx).Changes("credit of many", nil, in.Body)
	return changed(ctx, s.backend, api.AddCredits, in.Key, in, change, func(list []facts.CreditFacts) []api.Credit {
		return translate.Each(list, translate.Credit)
	})
}

func creditOf(c api.Credit) accounting.CreditAdded {
	e := accounting.CreditAdded{Owner: c.User, Amount: c.Amount, Source: c.Source}
	if c.Date != nil {
		e.Date = *c.Date
	}
	return e
}
