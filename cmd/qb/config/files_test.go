package config

import (
	"encoding"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qb/internal/units"
)

// TestReach: each setting that is not in this list, new ones too, is ignored in the current folder's file, with a
// warning that names it; each in the list is taken.
func TestReach(t *testing.T) {
	harmless := []string{"client_account", "client_cluster", "client_priority", "client_restrictions",
		"worker_cluster", "worker_cpus", "worker_flags", "worker_groups", "worker_job_types", "worker_properties"}
	_, load := here(t)
	defaults := defaultKeys()
	var taken []string
	for n, s := range defaults.settings() {
		accepted := false
		for _, value := range otherValues(t, s) {
			write(t, "qb.conf", s.key+" = "+value+"\n", 0o644)
			c, said, err := load()
			if err != nil {
				continue // no value of this setting
			}
			accepted = true
			got := c.settings()[n].value.Interface()
			changed := !reflect.DeepEqual(got, s.value.Interface())
			if ignored := strings.Contains(said, "ignoring "+s.key+" (qb.conf:1): "); ignored == changed {
				t.Errorf("%s = %s: it is %v, and said is %q", s.key, value, got, said)
			}
			if changed != slices.Contains(harmless, s.key) {
				t.Errorf("%s = %s of the current folder's file is in force: %v", s.key, value, changed)
			}
			if changed {
				taken = append(taken, s.key)
			}
			break
		}
		if !accepted {
			t.Errorf("%s: none of %v is a value; give this test one", s.key, otherValues(t, s))
		}
	}
	if slices.Sort(taken); !slices.Equal(taken, harmless) {
		t.Errorf("taken: %v, want %v", taken, harmless)
	}
	// as Qube writes them
	write(t, "qb.conf", "client_job_flags = export_environment\nclient_account = show\nclient_supervisor = evil\n", 0o644)
	if c, said, err := load(); err != nil || c.ClientJobFlags != "" || c.ClientAccount != "show" || !strings.Contains(said, "client_job_flags (qb.conf:1)") {
		t.Errorf("in Qube's form: %+v, %q, %v", c, said, err)
	}
}

// otherValues are texts in qb.conf of which one is a value of the setting, and not its default.
func otherValues(t *testing.T, s setting) []string {
	t.Helper()
	if _, text := s.value.Addr().Interface().(encoding.TextUnmarshaler); text {
		return []string{`"7m"`, `"97MiB"`, `"97"`, "97", `"401d"`}
	}
	switch s.value.Kind() {
	case reflect.Bool:
		return []string{strconv.FormatBool(!s.value.Bool())}
	case reflect.Int, reflect.Int64:
		return []string{strconv.FormatInt(s.value.Int()+1, 10), strconv.FormatInt(s.value.Int()-1, 10)}
	case reflect.Float64:
		return []string{"0.75", "1.5"}
	case reflect.Slice:
		return []string{`["mon-fri 09:00-18:00"]`, `["x"]`}
	case reflect.Map:
		return []string{`{x = "100"}`, `{x = 2}`, `{"/x" = "/y"}`}
	}
	return []string{`"x"`, `"off"`, `"/x"`, `"export_environment"`, `"priority"`, `"passive"`, `"none"`, `"release"`, `"return"`, `"instances"`, `"open"`, `"max"`, `"tree"`,
		`"fair_tree"`, `"fairshare"`, `"aggressive"`, `"ignore"`, `"lottery"`, `"jobs"`, `"spread"`, `"order"`, `"users"`, `"agent"`, `"owner"`, `"see"`, `"x=1"`, `"license.x=1"`, `"127.0.0.1:1"`}
}

// here makes a folder the current one and the only place with a configuration.
func here(t *testing.T) (dir string, loadHere func() (*Config, string, error)) {
	t.Helper()
	dir = t.TempDir()
	t.Chdir(dir)
	t.Setenv("QB_CONF", "")
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	return dir, func() (*Config, string, error) {
		warnings := &strings.Builder{}
		c, err := Load(Source{Program: "qb", Warn: warnings})
		return c, warnings.String(), err
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
	c, said, err := load()
	if err != nil {
		t.Fatal(err)
	}
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
	if c, said, err := load(); err != nil || c.ClientSupervisor != "http://evil" || said != "" {
		t.Errorf("the file that QB_CONF names: %v, %q, %v", c, said, err)
	}
}

// However many settings the current folder's file has that are ignored, the warning names eight and is short.
func TestIgnoredKeysAreFew(t *testing.T) {
	_, load := here(t)
	var lines []string
	for _, s := range (&Config{Keys: defaultKeys()}).settings() {
		if s.value.Type() == reflect.TypeFor[string]() && !mayBeOfProject(s.key) {
			lines = append(lines, s.key+" = ''\n")
		}
	}
	for _, ignored := range []int{1, units.MostNamed, units.MostNamed + 1, len(lines)} {
		write(t, "qb.conf", strings.Join(lines[:ignored], ""), 0o644)
		_, said, err := load()
		if err != nil {
			t.Fatal(err)
		}
		named := strings.Count(said, "(qb.conf:")
		more := strings.Contains(said, fmt.Sprintf(" and %d more: ", ignored-named))
		if named != min(ignored, units.MostNamed) || more != (ignored > named) || len(said) > 1000 {
			t.Errorf("%d ignored: %d are named in %d bytes: %s", ignored, named, len(said), said)
		}
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
		{"qb.conf", "the file can be written by others (mode 0664)", func() error { return os.Chmod("qb.conf", 0o664) }},
		{user, "the file can be written by others (mode 0646)", func() error { return os.Chmod(user, 0o646) }},
		{"qb.conf", "the folder of the file can be written by others (mode 0777)", func() error { return os.Chmod(dir, 0o1777) }},
		{user, "the folder of the file can be written by others (mode 0775)", func() error { return os.Chmod(filepath.Dir(user), 0o775) }},
		{"qb.conf", "the file is a link", func() error { return os.Rename("qb.conf", "other") }},
		{"qb.conf", "the file is not a regular file", func() error { os.Remove("qb.conf"); return unix.Mkfifo("qb.conf", 0o600) }},
	} {
		write(t, test.name, "worker_cpus = 5\n", 0o644)
		if err := test.spoil(); err != nil {
			t.Fatal(err)
		}
		if test.want == "the file is a link" {
			if err := os.Symlink("other", "qb.conf"); err != nil {
				t.Fatal(err)
			}
		}
		c, said, err := load()
		if err != nil {
			t.Fatal(err)
		}
		if (c.CPUs == 5) != (test.want == "") || !strings.Contains(said, test.want) || (said == "") != (test.want == "") {
			t.Errorf("%s, %s: worker_cpus %d, said %q", test.name, test.want, c.CPUs, said)
		}
		os.Remove(test.name)
		os.Chmod(dir, 0o755)
		os.Chmod(filepath.Dir(user), 0o755)
	}
}

// TestSwappedConfiguration: somebody else who may write the folder exchanges a file of ours with one of his own all the
// time; of 10,000 looks (as many as fit into 5 s) none takes a value from his. Where this test is not root, the folder
// is open to all.
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
		if c, _, err := load(); err != nil || c.CPUs == 5 || c.ClientSupervisor != "" {
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
