package settings

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the supervisor's file sets holds where the own configuration says nothing, and never for more than the worker offers.
func TestWithCentral(t *testing.T) {
	own := DefaultConfig()
	own.CPUs = 3
	values := map[string]json.RawMessage{
		"worker_cpus": []byte("8"), "worker_groups": []byte(`["big"]`), "worker_memory": []byte(`"2GiB"`), "worker_nimby": []byte(`"15m"`), "worker_scratch": []byte("1024"),
		"worker_properties": []byte(`{"site": "attic"}`), "worker_resources": []byte(`{"maya": 2}`), "worker_spec": []byte("2"),
	}
	c, err := own.WithCentral(values, []string{"worker_cpus"})
	if err != nil || c.CPUs != 3 || !slices.Equal(c.Groups, []string{"big"}) || c.Memory != 2<<30 || c.Nimby.Std() != 15*time.Minute || c.Scratch != 1024 ||
		c.Properties["site"] != "attic" || c.Resources["maya"] != 2 || c.Spec != 2 {
		t.Errorf("%+v: %v", c, err)
	}
	if len(own.Properties) > 0 || len(own.Groups) > 0 {
		t.Errorf("the own configuration has changed: %+v", own)
	}
	for _, s := range c.Shown(values, []string{"worker_cpus"}) {
		want := "central"
		switch {
		case s.Key == "worker_cpus":
			want = "own"
		case values[s.Key] == nil:
			want = "built in"
		}
		if s.Origin != want {
			t.Errorf("%+v", s)
		}
	}
	for key, text := range map[string]string{"worker_run_as": `"owner"`, "worker_allow_root": "true", "worker_lowest_uid": "0", "worker_pass_env": `["A"]`, "worker_state": `"/"`,
		"worker_resource_command": `["/bin/sh"]`, "worker_low_users_file": `"/x"`, "worker_private_tmp": "false", "worker_log_limit": "1", "worker_token_file": `"/x"`} {
		if _, err := own.WithCentral(map[string]json.RawMessage{key: []byte(text)}, nil); err == nil || !strings.Contains(err.Error(), "only from the worker's own") {
			t.Errorf("%s: %v", key, err)
		}
	}
	for key, text := range map[string]string{"worker_cpus": `"x"`, "worker_memory": `"many"`, "worker_groups": "7"} {
		if _, err := own.WithCentral(map[string]json.RawMessage{key: []byte(text)}, nil); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
