package message_test

import (
	"slices"
	"testing"

	"qb/supervisor/facts"
	"qb/supervisor/message"
)

// Jobs get the flags of the site besides their own, but for those with no_defaults.
func TestJobFlags(t *testing.T) {
	t.Parallel()
	p := message.Policy{MaxPriority: 9, JobFlags: []string{facts.FlagConvertPath, facts.FlagMigrate}}
	own := []string{facts.FlagMigrate, facts.FlagElite}
	row, _ := p.WithDefaults(facts.JobFacts{Flags: own})
	if want := []string{facts.FlagMigrate, facts.FlagElite, facts.FlagConvertPath}; !slices.Equal(row.Flags, want) || len(own) != 2 {
		t.Errorf("%v, want %v", row.Flags, want)
	}
	if row, _ = p.WithDefaults(facts.JobFacts{Flags: []string{facts.FlagNoDefaults}}); len(row.Flags) != 1 {
		t.Errorf("no_defaults: %v", row.Flags)
	}
}
