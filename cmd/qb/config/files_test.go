package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A new key that holds text decides here whether the current folder's file may set it.
func TestReach(t *testing.T) {
	harmless := []string{
		"supervisor_global_resources", "supervisor_no_licence", "supervisor_no_licence_exits", "supervisor_resources_per_user", "supervisor_default_cluster", "supervisor_default_hostorder", "supervisor_accounts", "supervisor_fairshare", "supervisor_fairshare_pe", "supervisor_fairshare_rule",
		"supervisor_smart_share_mode", "supervisor_smart_share_preempt_policy", "supervisor_smart_share_unit", "supervisor_preempt_policy", "supervisor_suspend_slots",
		"supervisor_queue_algorithm", "supervisor_placement", "supervisor_cpu_share", "supervisor_cpu_share_by", "worker_calendar", "worker_cluster", "worker_foreign_cpu", "worker_kept_action", "worker_groups", "worker_name", "worker_properties",
		"supervisor_smart_share_weights", "worker_resources",
		"supervisor_job_flags", "client_cluster", "client_account", "client_restrictions", "client_job_flags",
		"worker_job_types", "worker_flags", "supervisor_user_subjob_limits", "supervisor_pgrp_subjob_limits", "supervisor_account_subjob_limits",
	}
	c := defaultKeys()
	for _, s := range c.settings() {
		textual := slices.Contains([]reflect.Kind{reflect.String, reflect.Slice, reflect.Map}, s.value.Kind())
		if reached := slices.Contains(withReach, s.key); textual && reached == slices.Contains(harmless, s.key) {
			t.Errorf("%s: name it in withReach if it says where to connect, what to use, run or store, else in this test", s.key)
		}
	}
}

// here makes a folder the current one and the only place with a configuration.
func here(t *testing.T) (dir string, loadHere func() (*Config, string)) {
	t.Helper()
	dir = t.TempDir()
	t.Chdir(dir)
	t.Setenv("QB_CONF", "")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	return dir, func() (*Config, string) {
		warnings := &strings.Builder{}
		c, err := Load(Source{Program: "qb", Warn: warnings})
		if err != nil {
			t.Fatal(err)
		}
		return c, warnings.String()
	}
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err == nil {
		err = os.WriteFile(name, []byte(text), mode)
	}
	if err == nil {
		err = os.Chmod(name, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The current folder's file has no reach, however its keys are written, and lies over the user's.
func TestFileOfTheCurrentFolder(t *testing.T) {
	dir, load := here(t)
	write(t, filepath.Join(dir, "config/qb/qb.conf"), "client_supervisor = 'http://mine'\nclient_trusted_users = ['root']\nsupervisor_default_priority = 7\nworker_cpus = 3\n", 0o600)
	write(t, "qb.conf", "Client_Supervisor = 'http://evil'\nclient_token_file = '/etc/passwd'\n\"client_trusted_users\" = ['daemon']\ndatabase_bindir = '/x'\nworker_cpus = 5\n", 0o644)
	c, said := load()
	if c.ClientSupervisor != "http://mine" || c.ClientTokenFile != "" || c.DatabaseBinDir != "" || !slices.Equal(c.ClientTrustedUsers, []string{"root"}) {
		t.Errorf("in force: %+v", c.clientKeys)
	}
	if c.CPUs != 5 || c.DefaultPriority != 7 || c.Origins["worker_cpus"] != "qb.conf:5" {
		t.Errorf("in force: worker_cpus %d, supervisor_default_priority %d, from %q", c.CPUs, c.DefaultPriority, c.Origins["worker_cpus"])
	}
	const want = "qb: ignoring database_bindir (qb.conf:4), client_supervisor (qb.conf:1), client_token_file (qb.conf:2), client_trusted_users (qb.conf:3): "
	if !strings.HasPrefix(said, want) || !strings.Contains(said, "-conf qb.conf or QB_CONF") {
		t.Errorf("it says %q, want %q", said, want)
	}
	t.Setenv("QB_CONF", "qb.conf")
	if c, said := load(); c.ClientSupervisor != "http://evil" || said != "" {
		t.Errorf("the file that QB_CONF names: %q, %q", c.ClientSupervisor, said)
	}
}

// What others may have written is ignored.
func TestForeignConfiguration(t *testing.T) {
	dir, load := here(t)
	user := filepath.Join(dir, "config/qb/qb.conf")
	for _, test := range []struct {
		name, want string
		spoil      func() error
	}{
		{"qb.conf", "", func() error { return nil }},
		{user, "", func() error { return nil }},
		{"qb.conf", "it can be written by others (mode 0664)", func() error { return os.Chmod("qb.conf", 0o664) }},
		{user, "it can be written by others (mode 0646)", func() error { return os.Chmod(user, 0o646) }},
		{"qb.conf", "its folder can be written by others (mode 0777)", func() error { return os.Chmod(dir, 0o1777) }},
		{user, "its folder can be written by others (mode 0775)", func() error { return os.Chmod(filepath.Dir(user), 0o775) }},
		{"qb.conf", "it is a link", func() error { return os.Rename("qb.conf", "other") }},
		{"qb.conf", "it is not a regular file", func() error { os.Remove("qb.conf"); return unix.Mkfifo("qb.conf", 0o600) }},
	} {
		write(t, test.name, "worker_cpus = 5\n", 0o644)
		if err := test.spoil(); err != nil {
			t.Fatal(err)
		}
		if test.want == "it is a link" {
			if err := os.Symlink("other", "qb.conf"); err != nil {
				t.Fatal(err)
			}
		}
		c, said := load()
		if (c.CPUs == 5) != (test.want == "") || !strings.Contains(said, test.want) || (said == "") != (test.want == "") {
			t.Errorf("%s, %s: worker_cpus %d, said %q", test.name, test.want, c.CPUs, said)
		}
		os.Remove(test.name)
		os.Chmod(dir, 0o755)
		os.Chmod(filepath.Dir(user), 0o755)
	}
}

// TestSwappedConfiguration: somebody else who may write the folder exchanges a file of ours with one of his own all the time;
// of 10,000 looks (as many as fit into 5 s) none takes a value from his. Where this test is not root, the folder is one that all may write.
func TestSwappedConfiguration(t *testing.T) {
	dir, load := here(t)
	write(t, "mine", "supervisor_default_priority = 7\n", 0o644)
	write(t, "his", "worker_cpus = 5\nclient_supervisor = 'http://evil'\n", 0o644)
	if err := os.Symlink("mine", "qb.conf"); err != nil {
		t.Fatal(err)
	}
	err := os.Chmod(dir, 0o777)
	if os.Geteuid() == 0 {
		const stranger = 54321
		if err == nil {
			err = os.Lchown("his", stranger, stranger)
		}
		if err == nil {
			err = os.Chown(dir, stranger, stranger)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		swaps := 0
		for ; ; swaps++ {
			select {
			case <-stop:
				done <- swaps
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, "his", unix.AT_FDCWD, "qb.conf", unix.RENAME_EXCHANGE)
			}
		}
	}()
	taken, looks, began := 0, 0, time.Now()
	for ; looks < 10_000 && time.Since(began) < 5*time.Second; looks++ {
		if c, _ := load(); c.CPUs == 5 || c.ClientSupervisor != "" {
			taken++
		}
	}
	close(stop)
	swaps := <-done
	if taken > 0 || swaps < looks {
		t.Errorf("%d of %d looks took his values, over %d swaps", taken, looks, swaps)
	}
	t.Logf("%d looks over %d swaps", looks, swaps)
}
