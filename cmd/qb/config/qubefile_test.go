package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qb/cmd/qb/qube"
)

// TestQubesFileMeansWhatImportWrites: a farm that starts with a file of Qube's has the settings of the TOML that
// `qb config import` makes of it.
func TestQubesFileMeansWhatImportWrites(t *testing.T) {
	var imported strings.Builder
	if err := Import("testdata/qube.conf", &imported); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/qube-imported.conf")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), imported.String()); diff != "" {
		t.Errorf("the imported file (-wanted +got):\n%s", diff)
	}
	read := func(name, text string) Keys {
		c := Config{Keys: defaultKeys(), Origins: map[string]string{}}
		if err := c.parse(name, text); err != nil {
			t.Fatal(err)
		}
		return c.Keys
	}
	text, err := os.ReadFile("testdata/qube.conf")
	if err != nil {
		t.Fatal(err)
	}
	fromQube, fromTOML := read("qb.conf", string(text)), read("qb.conf", imported.String())
	if diff := cmp.Diff(fromTOML, fromQube, cmp.AllowUnexported(Keys{})); diff != "" {
		t.Errorf("the file and its import differ:\n%s", diff)
	}
	if fromQube.DefaultMaxCPUs != -1 || fromQube.SharePreempt != "passive" || fromQube.WorkerKeys.Resources["maya"] != 1 || fromQube.RunAs != "owner" {
		t.Errorf("settings were not taken: %+v", fromQube)
	}
}

// TestEverySettingOfQubesHasAnAnswer: each is qb's own, is taken under another name, or is said to have no effect, and no
// answer names a setting that qb lacks.
func TestEverySettingOfQubesHasAnAnswer(t *testing.T) {
	names := map[string]bool{}
	for _, name := range Names() {
		names[name] = true
	}
	for _, name := range qube.Settings() {
		known, _ := qube.Setting(name)
		if names[name] {
			t.Errorf("%s is listed, but qb has it", name)
		}
		if known.Note == "" || known.Setting != "" && !names[known.Setting] {
			t.Errorf("%s: the answer %+v is of no use", name, known)
		}
		for word := range strings.FieldsFuncSeq(known.Note, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }) {
			for _, part := range []string{"supervisor_", "worker_", "client_", "database_"} {
				if strings.HasPrefix(word, part) && !names[word] {
					t.Errorf("%s: the note names %s, which qb has not", name, word)
				}
			}
		}
	}
	if n := len(qube.Settings()); n < 70 {
		t.Errorf("only %d settings are answered", n)
	}
}

func TestFormsOfFiles(t *testing.T) {
	for text, want := range map[string]string{
		"supervisor_default_cluster = /show\n":                                       "",
		"supervisor_default_cluster = \"/show\"\nsupervisor_max_threads = 128\n":     "",
		"supervisor_default_cluster = /show # ours\n\n":                              "",
		"supervisor_default_cluster = /show\nworker_groups = [\"a\"]\n":              `qb.conf:1: a text needs quotes: supervisor_default_cluster = "/show"`,
		"supervisor_smart_share_mode = \"none\"\nsupervisor_default_cluster = /show": `qb.conf:2: a text needs quotes: supervisor_default_cluster = "/show"`,
		"supervisor_default_cluster = /show\nsupervisor_max_priority = high\n":       `qb.conf:2: key "supervisor_max_priority": "high" is not a whole number`,
		"supervisor_default_cluster = /show\nsupervisor_max_prio = 3\n":              `qb.conf:2: unknown key "supervisor_max_prio"`,
		"supervisor_default_cluster = /sh\x00w\n":                                    `the value has characters that are no text`,
		"supervisor_default_cluster =\nsupervisor_max_threads = 1\n":                 "",
		"supervisor_max_priority =\nsupervisor_max_threads = 1\n":                    `qb.conf:1: key "supervisor_max_priority": "" is not a whole number`,
	} {
		c := Config{Keys: defaultKeys(), Origins: map[string]string{}}
		err := c.parse("qb.conf", text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: error %v, wanted %q", text, err, want)
		}
	}
}

// TestTheLastOfTwoCounts: Qube's later line wins, which TOML would refuse.
func TestTheLastOfTwoCounts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "qb.conf")
	text := "supervisor_port = 50002\nsupervisor_listen = 127.0.0.1:50003\nsupervisor_max_priority = 5\nsupervisor_max_priority = 6\nsupervisor_default_priority = 6\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := CheckFile(name, &said); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), ":2: supervisor_listen: line 1 sets supervisor_listen too; this line counts") ||
		!strings.Contains(said.String(), ":4: supervisor_max_priority: line 3 sets") {
		t.Errorf("said %q", said.String())
	}
	c, err := Load(Source{File: name, Program: "qb", Warn: &said})
	if err != nil {
		t.Fatal(err)
	}
	if c.Listen != "127.0.0.1:50003" || c.MaxPriority != 6 {
		t.Errorf("listen %s, max priority %d", c.Listen, c.MaxPriority)
	}
	if c.Origins["supervisor_max_priority"] != name+":4" {
		t.Errorf("origin %q", c.Origins["supervisor_max_priority"])
	}
	if !strings.Contains(said.String(), "is in Qube!'s form; of its settings 3 mean something else") {
		t.Errorf("warned %q", said.String())
	}
}
