package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStateFolderOfAnother: a stranger makes the folder first, with links from its logs and locks to files of the user who
// starts a service there. The service ends with a sentence, and the files keep their bytes.
func TestStateFolderOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("only root can make folders of others")
		return
	}
	const stranger = 54321
	shared := t.TempDir()
	victim, folder := filepath.Join(shared, "victim"), filepath.Join(shared, "farm")
	err := errors.Join(os.Chmod(shared, 0o777|os.ModeSticky), os.WriteFile(victim, []byte("bytes"), 0o600), os.Mkdir(folder, 0o755))
	for _, name := range []string{"postgres.log", "pg.lock", "farm.lock", "admin.token", "farm.json", "lock", "farm.key"} {
		err = errors.Join(err, os.Symlink(victim, filepath.Join(folder, name)))
	}
	made := filepath.Join(folder, "pg")
	if err = errors.Join(err, os.Symlink(filepath.Join(shared, "elsewhere"), made), os.Chown(folder, stranger, stranger)); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{
		"farm":       {"farm", "-state", folder, "-listen", "127.0.0.1:0"},
		"below":      {"farm", "-state", filepath.Join(folder, "mine"), "-listen", "127.0.0.1:0"},
		"supervisor": {"supervisor", "-state", folder, "-listen", "127.0.0.1:0"},
		"worker":     {"worker", "-state", folder, "-supervisor", "http://127.0.0.1:1", "-token_file", victim},
	} {
		cmd := exec.Command("qb", args...)
		cmd.Env = append(os.Environ(), "QB_CONF="+os.DevNull, "QB_DATABASE_URL=")
		if name == "supervisor" {
			cmd.Env = append(cmd.Env, "QB_DATABASE_URL=postgres://qb@127.0.0.1:1/qb")
		}
		ended := time.AfterFunc(laterLimit, func() { _ = cmd.Process.Kill() })
		out, err := cmd.CombinedOutput()
		ended.Stop()
		if err == nil || !strings.Contains(string(out), "belongs to user id 54321") || !strings.Contains(string(out), "-state") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
	text, err := os.ReadFile(victim)
	if left, _ := os.ReadDir(shared); err != nil || string(text) != "bytes" || len(left) != 2 {
		t.Errorf("%q, %v, %v", text, err, left)
	}
}
