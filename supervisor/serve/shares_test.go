package serve

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"qb/api"
)

// TestSharesAreTold: REST and the metrics show the same shares and usage, once these are durable.
func TestSharesAreTold(t *testing.T) {
	r := startRig(t)
	op, u1, reader := r.client("op", api.Operator), r.client("u1", api.User), r.client("eye", api.ReadOnly)
	must[api.Account](t, op, api.AddAccount, nil, api.Account{Path: "show"})
	must[api.Account](t, op, api.AddAccount, nil, api.Account{Path: "show/shot", Users: []string{"u1"}})
	must[api.ShareSetting](t, op, api.SetShare, nil, api.ShareSetting{Path: "show/", Shares: 3})
	must[api.ShareSetting](t, op, api.SetShare, nil, api.ShareSetting{Path: "last", Shares: 0})
	before := time.Now().AddDate(-2, 0, 0)
	must[api.Credit](t, op, api.AddCredit, nil, api.Credit{User: "u1", Amount: 4, Source: "a paper", Date: &before})
	must[api.SubmitReply](t, u1, api.Submit, nil, api.SubmitRequest{Command: []string{"x"}, Account: "show/shot"})
	shares := must[[]api.Share](t, reader, api.ListShares, nil, nil)
	if len(shares) != 3 { // u1 in the account, u1 by his credit alone, and last
		t.Fatalf("shares %+v", shares)
	}
	metrics := r.metrics()
	for _, s := range shares {
		label := fmt.Sprintf("{account=%q,user=%q}", s.Account, s.User)
		for name, want := range map[string]float64{"rank": float64(s.Rank), "factor": s.Factor, "shares": s.Shares,
			"credit":         s.Credit,
			"entitled_ratio": s.Entitled, "received_ratio": s.Received} {
			line, got := "qb_share_"+name+label, 0.0
			if _, rest, found := strings.Cut(metrics, line); !found {
				t.Errorf("the metrics lack %s", line)
			} else if _, err := fmt.Sscan(rest, &got); err != nil || got < want-1e-6 || got > want+1e-6 {
				t.Errorf("%s is %v (%v), the list says %v", line, got, err, want)
			}
		}
		if s.User == "u1" && (s.Credit < 1.99 || s.Credit > 2.01 || s.Shares < 1.49 || s.Shares > 1.51) {
			t.Errorf("after two years, a half-life, half of the credit is left: %+v", s)
		}
		if s.User == "last" && (s.Rank != 3 || s.Factor != 0) {
			t.Errorf("a share of zero is last: %+v", s)
		}
	}
	if !strings.Contains(metrics, `qb_share_usage_cpu_seconds{account="show/shot",resource="scratch",user="u1"} 0`) {
		t.Error("the metrics lack use by resource")
	}
	if x := must[[]api.ShareExplanation](t, reader, api.ExplainShare, api.Params{"user": "u1"}, nil); len(x) != 2 ||
		x[0].HalfLife != 416340 {
		t.Errorf("explained %+v", x)
	}
	if set := must[[]api.ShareSetting](t, reader, api.ShareSet, nil, nil); len(set) != 2 || set[1].Path != "show/" ||
		set[1].By != "op" {
		t.Errorf("settings %+v", set)
	}
	if list := must[[]api.Credit](t, reader, api.ListCredit, api.Params{"user": "u1"}, nil); len(list) != 1 ||
		list[0].By != "op" || list[0].Source != "a paper" {
		t.Errorf("credit %+v", list)
	}
}

// TestBadSharesAreRefused: invalid shares are refused with the value and the remedy, and change nothing. A user without
// the right cannot give shares.
func TestBadSharesAreRefused(t *testing.T) {
	r := startRig(t)
	op, u1 := r.client("op", api.Operator), r.client("u1", api.User)
	for path, want := range map[string]string{"": "no place in the tree", "/": "no place", "/show": "no place",
		"show//": "no place", "a//b": "no place", " a": "no place",
		"a\nb": "no place", strings.Repeat("a/", 18): "18 parts; at most 17", strings.Repeat("x", 300): "at most"} {
		if said := refused(t, api.KindInvalid, op, api.SetShare, nil,
			api.ShareSetting{Path: path, Shares: 1}); !strings.Contains(said, want) {
			t.Errorf("path %q: %s", path, said)
		}
	}
	for _, shares := range []float64{-1, -1e-300, 1e10} {
		if said := refused(t, api.KindInvalid, op, api.SetShare, nil,
			api.ShareSetting{Path: "u1", Shares: shares}); !strings.Contains(said, "last in order") {
			t.Errorf("%v shares: %s", shares, said)
		}
	}
	for _, amount := range []float64{-1, 0, 1001} {
		if said := refused(t, api.KindInvalid, op, api.AddCredit, nil,
			api.Credit{User: "u1", Amount: amount, Source: "x"}); !strings.Contains(said, "credit is never taken back") {
			t.Errorf("credit %v: %s", amount, said)
		}
	}
	for _, b := range []api.Budget{{Path: "u1"}, {Path: "u1", Seconds: -1}, {Path: "u1", Seconds: 1, Per: -1},
		{Path: "u1", Seconds: 1, Over: "never"}, {Path: "a//b", Seconds: 1}} {
		refused(t, api.KindInvalid, op, api.SetBudget, nil, b)
	}
	if budgets := must[[]api.Budget](t, op, api.ListBudgets, nil, nil); len(budgets) != 0 {
		t.Errorf("budgets %+v", budgets)
	}
	refused(t, api.KindInvalid, op, api.AddAccounts, nil,
		[]api.Account{{Path: "show"}, {Path: "show/shot"}, {Path: "show/../show"}})
	refused(t, api.KindForbidden, u1, api.AddAccounts, nil, []api.Account{{Path: "mine", Users: []string{"u1"}}})
	if accounts := must[[]api.Account](t, op, api.ListAccounts, nil, nil); len(accounts) != 0 {
		t.Errorf("accounts %+v", accounts)
	}
	refused(t, api.KindInvalid, op, api.AddCredit, nil, api.Credit{User: "show/u1", Amount: 1, Source: "x"})
	refused(t, api.KindForbidden, u1, api.AddCredit, nil, api.Credit{User: "u1", Amount: 1, Source: "mine"})
	refused(t, api.KindForbidden, u1, api.AddAccount, nil, api.Account{Path: "mine", Users: []string{"u1"}})
	if err := u1.Call(t.Context(), api.Submit, nil,
		api.SubmitRequest{Command: []string{"x"}, Account: "mine"}, nil); api.Refusal(err).Code != "account-unknown" {
		t.Errorf("an account that is made up: %v", err)
	}
	refused(t, api.KindForbidden, u1, api.SetShare, nil, api.ShareSetting{Path: "u1", Shares: 9})
	for _, account := range []string{"show/", "/show", "a//b", "a/ /b", "../x/" + strings.Repeat("y/", 20) + "z"} {
		if said := refused(t, api.KindInvalid, u1, api.Submit, nil,
			api.SubmitRequest{Command: []string{"x"}, Account: account}); !strings.Contains(said, "account") {
			t.Errorf("account %q: %s", account, said)
		}
	}
	if shares := must[[]api.Share](t, u1, api.ListShares, nil, nil); len(shares) != 0 {
		t.Errorf("shares %+v", shares)
	}
}
