package worker

import (
	"slices"
	"strings"
	"testing"

	"qb/api"
	"qb/worker/core"
	"qb/worker/settings"
	"qb/worker/shim"
)

// prepared is the order for an item.
func prepared(l *launcher, item core.Item) (shim.RunCommand, error) {
	owner, err := l.ownerFor(item.Spec)
	if err != nil {
		return shim.RunCommand{}, err
	}
	return l.orderFor(item, owner)
}

// Paths are mapped by the job's entries, and with convert_path by those of the host where the job has none.
func TestTranslated(t *testing.T) {
	t.Parallel()
	l := &launcher{runAs: settings.RunAsAgent, agentUser: "ann", environ: func() []string { return nil }, owners: map[string]ownerFacts{}, paths: []string{"/vol=/host", "/site=/mnt"}}
	item := core.Item{Spec: api.JobSpec{User: "ann", Command: []string{"render", "--out=/vol/a", "/site/b"}, Cwd: "/vol/dir", Env: map[string]string{"TEX": "/x:/vol/t"},
		Validate: []string{"/vol/a:1K"}, PathMap: []string{"/vol=/job"}}}
	for _, c := range []struct {
		convert bool
		argv    []string
	}{{false, []string{"render", "--out=/job/a", "/site/b"}}, {true, []string{"render", "--out=/job/a", "/mnt/b"}}} {
		item.Spec.ConvertPath = c.convert
		order, err := prepared(l, item)
		if err != nil || !slices.Equal(order.Argv, c.argv) || order.Dir != "/job/dir" || !slices.Contains(order.Env, "TEX=/x:/job/t") || !slices.Contains(order.After[0].Argv, "/job/a") {
			t.Errorf("%+v, %v", order, err)
		}
	}
	if item.Spec.Cwd != "/vol/dir" || item.Spec.Env["TEX"] != "/x:/vol/t" {
		t.Error("the job itself was changed")
	}
	item.Spec.PathMap = []string{"/mnt=/site"}
	if _, err := prepared(l, item); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("a circle through both maps: %v", err)
	}
}
