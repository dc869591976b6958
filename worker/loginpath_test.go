package worker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"qb/api"
	"qb/worker/core"
	"qb/worker/settings"
	"qb/worker/shim"
)

func TestLoginPath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	login := write("login.defs", "# ENV_PATH PATH=/no\nENV_SUPATH\tPATH=/sbin:/bin\nENV_PATH  PATH=/bin:/games\nUMASK 022\n")
	pam := write("environment", "LANG=C\nPATH=\"/opt/bin:/bin\"\n")
	none := filepath.Join(dir, "none")
	for _, c := range []struct {
		uid                uint32
		environment, login string
		want               string
	}{
		{1000, none, login, "/bin:/games"}, {0, none, login, "/sbin:/bin"}, {1000, pam, login, "/opt/bin:/bin"}, {1000, login, pam, ""}, {0, none, none, ""},
	} {
		if got := loginPath(c.uid, c.environment, c.login); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// TestOwnersHaveTheirLoginPath: items that run as their owner have the PATH of the owner's login, unless the job or
// worker_pass_env has one.
func TestOwnersHaveTheirLoginPath(t *testing.T) {
	t.Parallel()
	item := core.Item{Spec: api.JobSpec{User: "alice", Command: []string{"true"}}}
	for _, c := range []struct {
		path   string
		env    map[string]string
		passed []string
		want   string
	}{
		{"/opt/bin:/bin", nil, nil, "PATH=/opt/bin:/bin"},
		{"", nil, nil, "PATH=" + shim.DefaultPath},
		{"/opt/bin:/bin", map[string]string{"PATH": "/job"}, nil, "PATH=/job"},
		{"/opt/bin:/bin", nil, []string{"PATH"}, "PATH=/agent"}, // worker_pass_env
		{"/opt/bin:/bin", map[string]string{"PATH": "/job"}, []string{"PATH"}, "PATH=/job"},
	} {
		l := &launcher{runAs: settings.RunAsOwner, passEnv: c.passed, environ: func() []string { return []string{"PATH=/agent"} }, owners: map[string]ownerFacts{
			"alice": {login: shim.Login{UID: 5000}, path: c.path, home: "/", at: time.Now()},
		}}
		item.Spec.Env = c.env
		if order, err := prepared(l, item); err != nil || !slices.Contains(order.Env, c.want) {
			t.Errorf("%+v: %v, %v", c, order.Env, err)
		}
	}
}
