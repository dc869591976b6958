package farm_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// setInstanceLimits reads user_limits=*:5,ada:3, pgrp_limits and account_limits; * is the default, and - no limit at all.
func setInstanceLimits(p *message.Policy, args []string) {
	for name, l := range map[string]*message.InstanceLimit{"user_limits": &p.Instances.User, "pgrp_limits": &p.Instances.PGrp, "account_limits": &p.Instances.Account} {
		text := option(args, name, "")
		if text == "" {
			continue
		}
		*l = message.InstanceLimit{Named: pairs(text)}
		if most, given := l.Named["*"]; given {
			l.Default = &most
			delete(l.Named, "*")
		}
	}
}

// limitsHold: no user, process group or account has more instances than its limit, and the reason instance_limit is that of
// jobs at one.
func (w *policyWatch) limitsHold(rt *rapid.T) {
	held, limits := map[string]int{}, w.r.policy.Instances
	under := func(j *facts.JobView) map[string]int {
		most := map[string]int{}
		add := func(key string, l message.InstanceLimit, name string) {
			if n, limited := l.Of(name); limited {
				most[key] = n
			}
		}
		add("user "+j.User, limits.User, j.User)
		add(fmt.Sprint("pgrp ", j.PGrp), limits.PGrp, j.User)
		add("account "+j.Account, limits.Account, j.Account)
		if top, _, nested := strings.Cut(j.Account, "/"); nested {
			add("account "+top, message.InstanceLimit{Named: limits.Account.Named}, top)
		}
		return most
	}
	view := w.r.farm.View(w.r.now)
	for _, j := range view.Jobs {
		for key := range under(j) {
			held[key] += j.Primary + j.Secondary + j.Draining
		}
	}
	for _, j := range view.Jobs {
		full := false
		for key, most := range under(j) {
			if held[key] > most {
				rt.Fatalf("limit: %s has %d instances of %d\n%s", key, held[key], most, strings.Join(w.r.said, "\n"))
			}
			full = full || held[key] == most
		}
		if j.Code == facts.ReasonInstanceLimit && !full {
			rt.Fatalf("limit: job %d waits (%s)\n%s", j.ID, j.Reason, strings.Join(w.r.said, "\n"))
		}
	}
}
