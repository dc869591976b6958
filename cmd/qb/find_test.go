package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"qb/api"
)

// The farm's token goes to the farm alone.
func TestTokenStaysHome(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "admin.token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("QB_TOKEN", "")
	t.Setenv("QB_TOKEN_FILE", "")
	farm := &farmFile{URL: "http://127.0.0.1:50001", Socket: "/x/qb.sock", TokenFile: token}
	conf := &loaded{}
	for named, want := range map[string]string{
		"": "secret", "http://127.0.0.1:50001": "secret", "http://localhost:50001": "secret", "http://[::1]:50001/": "secret",
		"unix:/x/qb.sock": "secret", "unix:/y/qb.sock": "", "http://127.0.0.1:50002": "", "http://evil.example:50001": "",
		"https://127.0.0.1:50001": "", "http://127.0.0.1.evil.example:50001": "", "http://127.0.0.1:50001@evil.example": "",
	} {
		if got, err := findToken(conf, farm, named); err != nil || got != want {
			t.Errorf("-supervisor %q is given %q, %v; want %q", named, got, err, want)
		}
	}
	t.Setenv("QB_TOKEN_FILE", filepath.Join(dir, "missing"))
	if _, err := findToken(conf, farm, ""); api.ExitCode(err) != 4 {
		t.Errorf("a token file that is missing: %v", err)
	}
	t.Setenv("QB_TOKEN", "mine")
	if got, _ := findToken(conf, farm, "http://evil.example"); got != "mine" {
		t.Errorf("QB_TOKEN is given as %q", got)
	}
}

func TestDefaultState(t *testing.T) {
	t.Setenv("QB_STATE", "/a/b")
	if got, err := defaultState(); got != "/a/b" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("QB_STATE", "")
	t.Setenv("XDG_STATE_HOME", "/c")
	want := "/c/qb"
	if os.Geteuid() == 0 {
		want = "/var/lib/qb"
	}
	if got, err := defaultState(); got != want || err != nil {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// TestFarmOfOnesOwn: what is found in a folder that everybody knows is heeded only by whom the folder belongs to.
func TestFarmOfOnesOwn(t *testing.T) {
	name := filepath.Join(t.TempDir(), "farm.json")
	if _, err := readOwn(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := os.WriteFile(name, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := readOwn(name); err != nil || string(data) != "{}" {
		t.Errorf("%q, %v", data, err)
	}
	if os.Geteuid() != 0 {
		if _, err := readOwn("/etc/passwd"); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("a folder of root's: %v", err)
		}
	} else if err := os.Chown(filepath.Dir(name), 1, 1); err != nil {
		t.Fatal(err)
	} else if _, err := readOwn(name); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a folder of somebody else's: %v", err)
	}
}

func TestWorkerEnvironment(t *testing.T) {
	got := workerEnvironment([]string{"PATH=/bin", "QB_TOKEN=secret", "QB_DATABASE_URL=x", "QB_WORKER_CPUS=3"})
	if len(got) != 2 || got[0] != "PATH=/bin" || got[1] != "QB_WORKER_CPUS=3" {
		t.Errorf("a worker is given %q", got)
	}
}
