package service

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A token to join with comes from the environment, a file or standard input, never from an argument.
func TestJoinToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		options workerOptions
		want    string
		refusal string
	}{
		"environment":  {workerOptions{join: "https://a:1"}, "from-environment", ""},
		"file":         {workerOptions{join: "https://a:1", tokenFile: file}, "from-file", ""},
		"input":        {workerOptions{join: "https://a:1", token: "-"}, "from-input", ""},
		"no join":      {workerOptions{tokenFile: file}, "", ""},
		"argument":     {workerOptions{join: "https://a:1", token: "qb_worker_canary"}, "", "-token accepts only -"},
		"no such file": {workerOptions{join: "https://a:1", tokenFile: file + "s"}, "", "reading -token_file"},
		"two ways":     {workerOptions{join: "https://a:1", token: "-", supervisor: "https://b:1"}, "", "without -supervisor"},
		"no address":   {workerOptions{token: "-"}, "", "give -join URL"},
	} {
		t.Setenv("QB_TOKEN", "from-environment")
		got, err := c.options.joinToken(strings.NewReader(" from-input\n"))
		if got != c.want || (err == nil) != (c.refusal == "") || err != nil && (!strings.Contains(err.Error(), c.refusal) || strings.Contains(err.Error(), "canary")) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	t.Setenv("QB_TOKEN", "")
	if _, err := (&workerOptions{join: "https://a:1"}).joinToken(strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "paste the whole line") {
		t.Errorf("without a token: %v", err)
	}
}
