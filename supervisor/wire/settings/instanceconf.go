package settings

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"qb/api"
	"qb/supervisor/farm/message"
	"qb/supervisor/job/facts"
)

// instanceLimits are the limits on how many instances run together.
func (c Config) instanceLimits() (message.InstanceLimits, error) {
	var limits message.InstanceLimits
	var bad []error
	for _, l := range []struct {
		to    *message.InstanceLimit
		most  Width
		key   string
		pairs string
	}{
		{&limits.User, c.UserLimit, "supervisor_user_subjob_limits", c.UserLimits},
		{&limits.PGrp, c.PGrpLimit, "supervisor_pgrp_subjob_limits", c.PGrpLimits},
		{&limits.Account, c.AccountLimit, "supervisor_account_subjob_limits", c.AccountLimits},
	} {
		if l.most >= 0 {
			l.to.Default = new(int(l.most))
		}
		if l.most > MaxCPUs {
			bad = append(bad, api.BadSetting(strings.TrimSuffix(strings.Replace(l.key, "supervisor_", "supervisor_default_", 1),
				"s"), " = %d: use \"*\" or 0 to %d", int(l.most), MaxCPUs))
		}
		named, err := readLimits(l.key, l.pairs)
		l.to.Named, bad = named, append(bad, err)
	}
	return limits, errors.Join(bad...)
}

// readLimits reads NAME=NUMBER pairs; a negative number is no limit.
func readLimits(key, text string) (map[string]int, error) {
	named := map[string]int{}
	for _, pair := range facts.SplitList(text) {
		at := strings.LastIndexByte(pair, '=')
		name, amount := pair[:max(at, 0)], strings.TrimSpace(pair[at+1:])
		name = strings.TrimSuffix(strings.TrimSpace(name), "/")
		n, err := strconv.Atoi(cmp.Or(strings.ReplaceAll(amount, "*", "-1"), "none"))
		switch _, twice := named[name]; {
		case err != nil || name == "" || n > MaxCPUs:
			return nil, api.BadSetting(key, ": %q is no limit; write NAME=NUMBER, with 0 to %d, or -1 for no limit",
				pair, MaxCPUs)
		case twice:
			return nil, api.BadSetting(key, ": %q has two limits; remove one", name)
		}
		named[name] = n
	}
	return named, nil
}
