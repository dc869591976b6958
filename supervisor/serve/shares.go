package serve

import (
	"cmp"
	"context"

	"qb/api"
	"qb/supervisor/access/audit"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/lead/term"
	"qb/supervisor/page"
	"qb/supervisor/store"
	"qb/supervisor/wire/translate"
)

// shareService answers what is asked about shares, accounts, budgets and credit.
type shareService struct {
	*backend
	timeline *page.Timeline
}

func (s *shareService) register(rt *routes) {
	mount(rt, api.Timeline, few(s.turns.heavy, s.pastShare))
	long := body(maxBody)
	mount(rt, api.ListShares, s.listShares)
	mount(rt, api.ExplainShare, s.explainShare)
	mount(rt, api.ShareSet, s.shareSettings)
	mount(rt, api.SetShare, s.setShare)
	mount(rt, api.ListAccounts, s.listAccounts)
	mount(rt, api.PastAccounts, few(s.turns.heavy, s.pastAccounts))
	mount(rt, api.AddAccount, s.addAccount, long)
	mount(rt, api.AddAccounts, s.addAccounts)
	mount(rt, api.DropAccount, s.dropAccount, long)
	mount(rt, api.ListBudgets, s.listBudgets)
	mount(rt, api.SetBudget, s.setBudget)
	mount(rt, api.Publications, s.listPublications)
	mount(rt, api.Report, s.reportPublication)
	mount(rt, api.Decide, s.decidePublication)
	mount(rt, api.AddCredits, s.addCredits, long)
	mount(rt, api.ListCredit, s.listCredit)
	mount(rt, api.AddCredit, s.addCredit)
}

type listSharesIn struct {
	User string `query:"user" maxLength:"255" doc:"Only this user; empty: all."`
}

func (s *shareService) listShares(ctx context.Context, in *listSharesIn) (*jsonOf[[]api.Share], error) {
	report, err := look(ctx, s.backend, term.Machine.Shares)
	if err != nil {
		return nil, err
	}
	out := &jsonOf[[]api.Share]{Body: []api.Share{}}
	for _, o := range report.Owners {
		if in.User == "" || in.User == o.Owner {
			out.Body = append(out.Body, translate.Share(o))
		}
	}
	return out, nil
}

type explainShareIn struct {
	User string `path:"user" maxLength:"255" doc:"The user's name."`
}

// explainShare has an entry for each account of the user.
func (s *shareService) explainShare(ctx context.Context, in *explainShareIn) (*jsonOf[[]api.ShareExplanation], error) {
	report, err := look(ctx, s.backend, term.Machine.Shares)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	out := &jsonOf[[]api.ShareExplanation]{Body: []api.ShareExplanation{}}
	for _, o := range report.Owners {
		if o.Owner != in.User {
			continue
		}
		days, err := s.reader.Ledger(ctx, o.Owner, o.Accounts, report.At, report.Policy.HalfLife)
		if err != nil {
			return nil, problem.Reading("the ledger", err)
		}
		x := api.ShareExplanation{
			Share: translate.Share(o), Accounts: o.Accounts, Lines: translate.Each(days, func(d store.LedgerDay) api.LedgerLine {
				return api.LedgerLine(d)
			}), Ended: o.Usage.Total(), Running: o.Running.Total(), Counted: o.Counted,
			HalfLife: report.Policy.HalfLife.Seconds(), Rule: report.Policy.Rule, Order: report.Policy.Order,
			ByOwner: report.ByOwner, Points: report.Weight, At: translate.Time(report.At),
		}
		out.Body = append(out.Body, x)
	}
	if len(out.Body) == 0 {
		return nil, api.Errorf(api.KindNotFound,
			"user %q has no shares, no credit, no usage and no job; qbshare lists who has", problem.Clip(in.User))
	}
	return out, nil
}

func (s *shareService) shareSettings(ctx context.Context, _ *nothing) (*jsonOf[[]api.ShareSetting], error) {
	list, err := s.reader.Shares(ctx)
	return listed(list, problem.Reading("shares", err), translate.ShareSetting)
}

func (s *shareService) setShare(ctx context.Context, in *keyed[api.ShareSetting]) (*jsonOf[api.ShareSetting], error) {
	if err := translate.CheckName("path", in.Body.Path); err != nil {
		return nil, err
	}
	list, err := s.reader.Shares(ctx)
	if err != nil {
		return nil, problem.Reading("shares", err)
	}
	shares := func(s facts.ShareFacts) map[string]float64 { return map[string]float64{"shares": s.Shares} }
	before := before(list, shares, func(s facts.ShareFacts) bool { return s.Path == in.Body.Path })
	audit.Of(ctx).Changes("share "+in.Body.Path, before, map[string]float64{"shares": in.Body.Shares})
	return changed(ctx, s.backend, api.SetShare, in.Key, in,
		accounting.ShareSet{Path: in.Body.Path, Shares: in.Body.Shares}, translate.ShareSetting)
}

type listCreditIn struct {
	User string `query:"user" maxLength:"255" doc:"Only this user's; empty: all."`
}

func (s *shareService) listCredit(ctx context.Context, in *listCreditIn) (*jsonOf[[]api.Credit], error) {
	list, err := s.reader.Credits(ctx, in.User)
	return listed(list, problem.Reading("credit", err), translate.Credit)
}

// addCredit tells the audit trail of the sum of all entries before, and of the entry.
func (s *shareService) addCredit(ctx context.Context, in *keyed[api.Credit]) (*jsonOf[api.Credit], error) {
	if err := cmp.Or(translate.CheckUser(in.Body.User), translate.CheckName("source", in.Body.Source)); err != nil {
		return nil, err
	}
	list, err := s.reader.Credits(ctx, in.Body.User)
	if err != nil {
		return nil, problem.Reading("credit", err)
	}
	sum := 0.0
	for _, c := range list {
		sum += c.Amount
	}
	audit.Of(ctx).Changes("credit of "+in.Body.User, map[string]float64{"given": sum},
		map[string]any{"given": sum + in.Body.Amount, "entry": in.Body})
	return changed(ctx, s.backend, api.AddCredit, in.Key, in, creditOf(in.Body), translate.Credit)
}

// owners are where users stand, by rank; none where this supervisor does not lead.
func (s *shareService) owners() []accounting.OwnerShare {
	ctx, cancel := context.WithTimeout(context.Background(), readFor)
	defer cancel()
	report, err := look(ctx, s.backend, term.Machine.Shares)
	if err != nil {
		return nil
	}
	return report.Owners
}
