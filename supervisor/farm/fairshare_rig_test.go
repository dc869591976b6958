package farm_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"qb/smartshare/fairshare"
	"qb/supervisor/farm/accounting"
	"qb/supervisor/farm/message"
)

// setFairshare reads the words of a dialogue's policy that concern fairshare.
func setFairshare(p *message.Policy, args []string) {
	fair := &p.Fairshare
	fair.PE, fair.Rule = option(args, "pe", fair.PE), option(args, "rule", fair.Rule)
	fair.Accounts = option(args, "accounts", fair.Accounts)
	fair.Order = option(args, "fairshare", fmt.Sprint(fair.Order)) == "true"
	fair.Weights = option(args, "weights", fmt.Sprint(fair.Weights)) == "true"
	for name, to := range map[string]*time.Duration{"half_life": &fair.HalfLife, "max_age": &p.Multifactor.MaxAge} {
		if text := option(args, name, ""); text != "" {
			d, err := time.ParseDuration(text)
			if err != nil {
				panic(err)
			}
			*to = d
		}
	}
	if text := option(args, "points", ""); text != "" {
		w := parts(text)
		p.Multifactor.Weights = fairshare.Multifactor{Age: w[0], Fairshare: w[1], Priority: w[2], Size: w[3]}
	}
}

// parts reads numbers such as 100/1000/0/-5.
func parts(text string) (list []float64) {
	for _, part := range strings.Split(text, "/") {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil {
			panic(err)
		}
		list = append(list, v)
	}
	return list
}

// names reads an option with several, such as users=ada,bob.
func names(args []string, name string) []string {
	return strings.FieldsFunc(option(args, name, ""), func(r rune) bool { return r == ',' })
}

// fairVerb gives shares and credit and shows the position of everyone.
func (r *rig) fairVerb(verb string, args []string) bool {
	switch verb {
	case "share":
		r.step(message.AccountsChanged{Ticket: r.newTicket(), Change: accounting.ShareSet{Path: args[0], Shares: parts(args[1])[0]}, By: "op"})
	case "credit":
		r.step(message.AccountsChanged{Ticket: r.newTicket(), Change: accounting.CreditAdded{Owner: args[0], Amount: parts(args[1])[0], Source: fmt.Sprint("shot ", r.newTicket())}, By: "op"})
	case "report":
		r.step(message.AccountsChanged{Ticket: r.newTicket(), Change: accounting.PublicationReported{Owner: args[0], Source: args[1]}, By: args[0]})
	case "accept", "reject":
		r.step(message.AccountsChanged{Ticket: r.newTicket(), Change: accounting.PublicationDecided{Source: args[0], Accept: verb == "accept"}, By: "op"})
	case "budget":
		period, err := time.ParseDuration(option(args, "per", "0s"))
		if err != nil {
			panic(err)
		}
		r.step(message.AccountsChanged{Ticket: r.newTicket(), By: "op", Change: accounting.BudgetSet{Path: args[0], Amount: parts(args[1])[0], Period: period, Beyond: option(args, "over", "wait")}})
	case "account":
		given := accounting.AccountAdded{Path: args[0], Users: names(args, "users"), Groups: names(args, "groups"), DefaultFor: names(args, "default")}
		if slices.Contains(args, "remove") {
			r.step(message.AccountsChanged{Ticket: r.newTicket(), Change: accounting.AccountRemoved(given), By: "op"})
			break
		}
		r.step(message.AccountsChanged{Ticket: r.newTicket(), Change: given, By: "op"})
	case "standings":
		for _, o := range r.farm.Shares(r.now).Owners {
			fmt.Fprintf(&r.out, "rank %d %s", o.Rank, o.Owner)
			if o.Account != "" {
				fmt.Fprintf(&r.out, " in %s", o.Account)
			}
			fmt.Fprintf(&r.out, ": factor %.3f, shares %.3g, used %.1f, runs %.1f + %.1f ahead\n", o.Factor, o.Effective, o.Usage.Total(), o.Running.Total(), o.Ahead)
		}
	default:
		return false
	}
	return true
}
