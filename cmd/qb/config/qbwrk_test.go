package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestImportWorkers(t *testing.T) {
	name := filepath.Join(t.TempDir(), "qbwrk.conf")
	text := `[default]
worker_cpus = 8
proxy_execution_mode = user
[linux]
worker_cluster = "/show"
[big]
worker_resources = "host.maya=2"
worker_logpath = /var/spool
[rn[01-03]] : big
worker_cpus = 4
worker_groups = $big.groups
[osx]
worker_cpus = 1
`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := ImportWorkers(name, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"[default]\n# line 3: proxy_execution_mode: taken as worker_run_as", "no effect: worker_run_as comes only from the worker's own qb.conf", "worker_cluster = \"/show\"\nworker_cpus = 8\n",
		"[host.\"rn[01-03]\"]\n", "no effect: macros", "worker_cpus = 4\nworker_resources = {\"maya\" = 2}\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, out.String())
		}
	}
	for _, bad := range []string{"worker_cpus = 8\n", "[a] : b\nworker_cpus = 3\n", "[a]\nnonsense\n"} {
		if err := os.WriteFile(name, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := ImportWorkers(name, &out); err == nil || !strings.Contains(err.Error(), "qbwrk.conf:1") && !strings.Contains(err.Error(), "qbwrk.conf:2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
