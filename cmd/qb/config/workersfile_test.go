package config

import (
	"strings"
	"testing"
)

func TestWorkersFile(t *testing.T) {
	s, err := workersOf("workers.conf", "[default]\nworker_cpus = 8\n[group.big]\nworker_memory = \"64GiB\"\n[host.\"rn[08-10]\"]\nworker_cpus = 4\nworker_groups = [\"big\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	if values, from := s.For("rn09", nil); string(values["worker_cpus"]) != "4" || from["worker_memory"] != "group.big" {
		t.Errorf("%s %v", values, from)
	}
	if values, _ := s.For("rn11", nil); string(values["worker_cpus"]) != "8" || values["worker_memory"] != nil {
		t.Errorf("%s", values)
	}
	for text, want := range map[string]string{
		"[host.rn01]\nworker_run_as = \"owner\"":             "comes only from the worker's own qb.conf",
		"[default]\nworker_resource_command = [\"/bin/sh\"]": "comes only from the worker's own qb.conf",
		"[default]\nworker_cpu = 3":                          "is no setting; did you mean worker_cpus",
		"[default]\nworker_cpus = \"many\"":                  "worker_cpus",
		"[default]\nworker_cpus = -4":                        "worker_cpus",
		"[group.big]\nworker_groups = [\"a\"]":               "cannot be set for a group",
		"[machine.rn01]\nworker_cpus = 3":                    "unknown section",
		"[host.\"rn[9-1]\"]\nworker_cpus = 3":                "no range",
		"[host.\"rn[1-3]\"]\n[host.rn2]\nworker_cpus = 3":    "two sections",
		"[default]\nworker_cpus = x":                         "workers.conf:2",
	} {
		if _, err := workersOf("workers.conf", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
