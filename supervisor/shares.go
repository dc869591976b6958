package supervisor

import (
	"context"
	"math"
	"strings"
	"time"

	"qb/api"
	"qb/supervisor/accounting"
	"qb/supervisor/facts"
	"qb/supervisor/farm"
	"qb/supervisor/outbox"
	"qb/supervisor/problem"
)

type listSharesIn struct {
	User string `query:"user" maxLength:"255" doc:"Only this user; empty: all."`
}

type listSharesOut struct{ Body []api.Share }

func (s *server) listShares(ctx context.Context, in *listSharesIn) (*listSharesOut, error) {
	report, err := s.shareReport(ctx)
	if err != nil {
		return nil, err
	}
	out := &listSharesOut{Body: []api.Share{}}
	for _, o := range report.Owners {
		if in.User == "" || in.User == o.Owner {
			out.Body = append(out.Body, shareOf(o))
		}
	}
	return out, nil
}

func (s *server) shareReport(ctx context.Context) (report accounting.Report, err error) {
	l, err := s.leading()
	if err != nil {
		return report, err
	}
	err = l.look(ctx, func(m machine, now time.Time) { report = m.Shares(now) })
	return report, err
}

func shareOf(o accounting.OwnerShare) api.Share {
	u := api.ShareUsage{CPU: o.Usage.CPU + o.Running.CPU, RAM: o.Usage.RAM + o.Running.RAM, GPU: o.Usage.GPU + o.Running.GPU, Scratch: o.Usage.Scratch + o.Running.Scratch}
	u.Total = u.CPU + u.RAM + u.GPU + u.Scratch
	return api.Share{
		User: o.Owner, Account: o.Account, Shares: o.Effective, BaseShares: o.Shares, Entitled: o.Entitled, Received: o.Received,
		Usage: u, Ahead: o.Ahead, Factor: o.Factor, Rank: o.Rank, Credit: o.Credit,
	}
}

type explainShareIn struct {
	User string `path:"user" maxLength:"255" doc:"The user's name."`
}

type explainShareOut struct{ Body []api.ShareExplanation }

// explainShare has an entry for each account in which the user stands.
func (s *server) explainShare(ctx context.Context, in *explainShareIn) (*explainShareOut, error) {
	report, err := s.shareReport(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	out := &explainShareOut{Body: []api.ShareExplanation{}}
	for _, o := range report.Owners {
		if o.Owner != in.User {
			continue
		}
		days, err := s.reader.Ledger(ctx, o.Payer, report.At, report.Policy.HalfLife)
		if err != nil {
			return nil, problem.Reading("the ledger", err)
		}
		x := api.ShareExplanation{
			Share: shareOf(o), Lines: make([]api.LedgerLine, 0, len(days)), Ended: o.Usage.Total(), Running: o.Running.Total(), Counted: o.Counted,
			HalfLife: report.Policy.HalfLife.Seconds(), Rule: report.Policy.Rule, Order: report.Policy.Order, Points: report.Weight, At: shown(report.At),
		}
		for _, d := range days {
			x.Lines = append(x.Lines, api.LedgerLine(d))
		}
		out.Body = append(out.Body, x)
	}
	if len(out.Body) == 0 {
		return nil, api.Errorf(api.KindNotFound, "user %q has no shares, no credit, no usage and no job; qbshare lists who has", problem.Clip(in.User))
	}
	return out, nil
}

type shareSettingsOut struct{ Body []api.ShareSetting }

func (s *server) shareSettings(ctx context.Context, _ *nothing) (*shareSettingsOut, error) {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	list, err := s.reader.Shares(ctx)
	if err != nil {
		return nil, problem.Reading("shares", err)
	}
	out := &shareSettingsOut{Body: make([]api.ShareSetting, 0, len(list))}
	for _, share := range list {
		out.Body = append(out.Body, settingOf(share))
	}
	return out, nil
}

func settingOf(s facts.ShareFacts) api.ShareSetting {
	return api.ShareSetting{Path: s.Path, Shares: s.Shares, By: s.By, At: timeOrNil(s.At)}
}

type setShareIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
	Body api.ShareSetting
}

type setShareOut struct{ Body api.ShareSetting }

func (s *server) setShare(ctx context.Context, in *setShareIn) (*setShareOut, error) {
	if err := checkName("path", in.Body.Path); err != nil {
		return nil, err
	}
	noteOf(ctx).on("share "+in.Body.Path, in.Body)
	shape := func(body any) *setShareOut { return &setShareOut{settingOf(body.(farm.ShareReply).Share)} }
	return once(ctx, s, api.SetShare, in.Key, in, shape, func(c call) (any, error) {
		return c.ask(ctx, func(t outbox.Ticket) farm.Event {
			return farm.ShareSet{Ticket: t, Path: in.Body.Path, Shares: in.Body.Shares, By: principalOf(ctx).User}
		})
	})
}

type listCreditIn struct {
	User string `query:"user" maxLength:"255" doc:"Only this user's; empty: all."`
}

type listCreditOut struct{ Body []api.Credit }

func (s *server) listCredit(ctx context.Context, in *listCreditIn) (*listCreditOut, error) {
	ctx, cancel := context.WithTimeout(ctx, readFor)
	defer cancel()
	list, err := s.reader.Credits(ctx, in.User)
	if err != nil {
		return nil, problem.Reading("credit", err)
	}
	out := &listCreditOut{Body: make([]api.Credit, 0, len(list))}
	for _, c := range list {
		out.Body = append(out.Body, creditOf(c))
	}
	return out, nil
}

func creditOf(c facts.CreditFacts) api.Credit {
	return api.Credit{User: c.Owner, Amount: c.Amount, Source: c.Source, Date: timeOrNil(c.Date), By: c.By, AddedAt: timeOrNil(c.AddedAt)}
}

type addCreditIn struct {
	Key  string `header:"Idempotency-Key" maxLength:"128" pattern:"^[!-~]*$" doc:"Repeating the call with it changes nothing and answers the same."`
	Body api.Credit
}

type addCreditOut struct{ Body api.Credit }

func (s *server) addCredit(ctx context.Context, in *addCreditIn) (*addCreditOut, error) {
	if err := problem.FirstError(checkUser(in.Body.User), checkName("source", in.Body.Source)); err != nil {
		return nil, err
	}
	e := farm.CreditAdded{Owner: in.Body.User, Amount: in.Body.Amount, Source: in.Body.Source, By: principalOf(ctx).User}
	if in.Body.Date != nil {
		e.Date = *in.Body.Date
	}
	noteOf(ctx).on("credit of "+in.Body.User, in.Body)
	shape := func(body any) *addCreditOut { return &addCreditOut{creditOf(body.(farm.CreditReply).Credit)} }
	return once(ctx, s, api.AddCredit, in.Key, in, shape, func(c call) (any, error) {
		return c.ask(ctx, func(t outbox.Ticket) farm.Event { e.Ticket = t; return e })
	})
}

// checkSpec refuses a speed that would charge nonsense.
func checkSpec(spec float64) error {
	if !(spec >= 0 && spec <= maxSpec) || math.IsNaN(spec) {
		return problem.Invalid("spec", "%v; use more than 0, at most %d; 1 is the reference", spec, maxSpec)
	}
	return nil
}

const maxSpec = 1_000_000

// checkAccount takes a path in the tree of shares, without a slash at its ends.
func checkAccount(account string) error {
	if account == "" {
		return nil
	}
	if strings.HasSuffix(account, "/") || accounting.CheckPath(account) != nil {
		return problem.Invalid("account", "%q; write a path such as show/shot, without a slash at its ends and without . or .. in it", problem.Clip(account))
	}
	return checkName("account", account)
}
