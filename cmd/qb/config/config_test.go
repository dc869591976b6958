package config

import (
	"encoding"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"qb/api"
	"qb/supervisor/wire/settings"
)

const exampleFile = "../../../qb.conf.example"

// qb.conf.example is what `qb config example` prints. It sets nothing, and with all its settings it means exactly what
// an empty file means.
func TestExample(t *testing.T) {
	data, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Example(), string(data)); diff != "" {
		t.Errorf("qb.conf.example differs; write it with `qb config example > qb.conf.example`:\n%s", diff)
	}
	copied := Config{Origins: map[string]string{}}
	if err := copied.parse("qb.conf.example", string(data)); err != nil || len(copied.Origins) > 0 {
		t.Errorf("a copy of qb.conf.example sets %v: %v", copied.Origins, err)
	}
	c := Config{Origins: map[string]string{}} // no defaults: all must come from the file
	if err := c.parse("qb.conf.example", uncommented(string(data))); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(defaultKeys(), c.Keys, cmp.AllowUnexported(Keys{})); diff != "" {
		t.Errorf("qb.conf.example does not mean the defaults:\n%s", diff)
	}
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
}

// uncommented is an example whose settings are in force.
func uncommented(example string) string {
	return regexp.MustCompile(`(?m)^#([a-z]\w* = )`).ReplaceAllString(example, "$1")
}

func TestEveryKeyIsExplained(t *testing.T) {
	c := defaultKeys()
	seen := map[string]bool{}
	for _, s := range c.settings() {
		if s.doc == "" {
			t.Errorf("%s is not explained; give its field a doc tag", s.key)
		}
		if seen[s.key] {
			t.Errorf("%s is there twice", s.key)
		}
		seen[s.key] = true
	}
}

func TestBadFiles(t *testing.T) {
	const byFactor = "supervisor_fairshare_decay_factor = 0.75\nsupervisor_fairshare_decay_period = '48h'\n"
	for text, want := range map[string]string{
		"\nsupervisor_max_cpu_limit = 100\n":                 `qb.conf:2: unknown key "supervisor_max_cpu_limit"; did you mean supervisor_max_cpus_limit?`,
		"supervisor_max_cpus_limit = 'many'\n":               `qb.conf:1: key "supervisor_max_cpus_limit": "many" is not a whole number`,
		"worker_groups = 'ada'\n":                            `qb.conf:1: key "worker_groups": "ada" is not a list such as ["a", "b"]`,
		"supervisor_listen = true\n":                         `qb.conf:1: key "supervisor_listen": true is not a text such as "a"`,
		"SUPERVISOR_MAX_CPUS_LIMIT = 1.5\n":                  `qb.conf:1: key "SUPERVISOR_MAX_CPUS_LIMIT": 1.5 is not a whole number`,
		"# a\nsupervisor_liveness = 'soon'\n":                `qb.conf:2: key "supervisor_liveness"`,
		"a = 1\nb = 2\n":                                     "2 settings are refused:\nqb.conf:1: unknown key \"a\"; `qb config example` lists all\nqb.conf:2: unknown key \"b\"; ",
		"supervisor_listen = \"127.0.0.1\n":                  "qb.conf:1: ",
		"supervisor_liveness = -3\n":                         `qb.conf:1: key "supervisor_liveness": "-3" is not a time span; write seconds such as 90`,
		"[supervisor]\nlisten = 'x'\n":                       `qb.conf:1: unknown key "supervisor"`,
		"supervisor_listen = 'a'\n\nsupervisor_listen = 'b'": "qb.conf:3: ",
		"supervisor_listen = 'farm'\n":                       "qb.conf:1: supervisor_listen",
		"\n\nsupervisor_default_cluster = 'vfx'\n":           "qb.conf:3: supervisor_default_cluster",
		"supervisor_fairshare_decay_factor = nan\n":          "qb.conf:1: supervisor_fairshare_decay_factor = NaN",
		"worker_spec = nan\n":                                "qb.conf:1: worker_spec = NaN",
		byFactor + "supervisor_fairshare_half_life = '5d'\n": "qb.conf:3: supervisor_fairshare_half_life = 5d: supervisor_fairshare_decay_factor = 0.75",
		// The default, but written.
		byFactor + "supervisor_fairshare_half_life = '115h39m'\n": "qb.conf:3: supervisor_fairshare_half_life = 115h39m: supervisor_fairshare_decay_factor = 0.75",
	} {
		c := Config{Keys: defaultKeys(), Origins: map[string]string{}}
		err := c.parse("qb.conf", text)
		if err == nil {
			err = c.Validate()
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Count(err.Error(), "\n") > 2 {
			t.Errorf("%q gives\n%v, want\n%s", text, err, want)
		}
	}
}

// A key has one origin, in whatever case it is written, and a table however it is.
func TestOriginOfKeys(t *testing.T) {
	c := Config{Keys: defaultKeys(), Origins: map[string]string{}}
	if err := c.parse("qb.conf", "worker_resources.maya = 3\nWorker_CPUs = 4\n[worker_properties]\na = 'b'\n"); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"worker_resources": "qb.conf:1", "worker_cpus": "qb.conf:2", "worker_properties": "qb.conf:3"}
	if diff := cmp.Diff(want, c.Origins); diff != "" || c.CPUs != 4 || c.WorkerKeys.Resources["maya"] != 3 || c.WorkerKeys.Properties["a"] != "b" {
		t.Errorf("in force: %+v, origins:\n%s", c.WorkerKeys, diff)
	}
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{
		"QB_SUPERVISOR_MAX_CPUS_LIMIT": "7", "QB_SUPERVISOR_DEFAULT_MAX_CPUS": "*", "QB_DATABASE_URL": `postgres://a"b\c`,
		"QB_SUPERVISOR_LIVENESS": "45s", "QB_WORKER_GROUPS": "a, b",
	}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	c := Config{Keys: defaultKeys(), Origins: map[string]string{}}
	c.MaxCPUsLimit, c.DefaultMaxCPUs = 5, 5
	if err := c.readEnvironment(lookup); err != nil {
		t.Fatal(err)
	}
	if c.MaxCPUsLimit != 7 || c.DefaultMaxCPUs != -1 || c.DatabaseURL != `postgres://a"b\c` || c.Liveness.String() != "45s" ||
		strings.Join(c.WorkerKeys.Groups, "|") != "a|b" {
		t.Errorf("the environment gives %+v", c.Keys)
	}
	if got := c.Origins["supervisor_liveness"]; got != "QB_SUPERVISOR_LIVENESS" {
		t.Errorf("origin %q", got)
	}
	for _, bad := range []string{"many", " ", "1\nsupervisor_listen = 'x'", "1 2"} {
		env = map[string]string{"QB_SUPERVISOR_MAX_CPUS_LIMIT": bad}
		c := Config{Keys: defaultKeys(), Origins: map[string]string{}}
		if err := c.readEnvironment(lookup); err == nil || !strings.HasPrefix(err.Error(), "environment QB_SUPERVISOR_MAX_CPUS_LIMIT=") {
			t.Errorf("QB_SUPERVISOR_MAX_CPUS_LIMIT=%q: %v", bad, err)
		}
	}
}

// A check tells all that is wrong, in the order of the file: what cannot be read, what is unknown and what cannot be.
func TestCheckTellsEverything(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bad.conf")
	text := "worker_groups = 'ada'\nsupervisor_default_cluster = 'vfx'\nsupervisor_livenes = '5s'\nworker_spec = nan\nsupervisor_liveness = 'soon'\n" +
		strings.Repeat("#\n", 10) + "supervisor_max_cpus_limit = 'x'\n"
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		err := CheckFile(name, io.Discard)
		if err == nil {
			t.Fatal("nothing is wrong")
		}
		var lines []string
		heading, list, _ := strings.Cut(err.Error(), "\n") // behind the program's name
		if heading != "6 settings are refused:" {
			t.Errorf("the heading is %q", heading)
		}
		for line := range strings.Lines(list) {
			rest, _ := strings.CutPrefix(line, name+":")
			number, _, _ := strings.Cut(rest, ":")
			lines = append(lines, number)
		}
		if got := strings.Join(lines, " "); got != "1 2 3 4 5 16" {
			t.Errorf("problems in lines %s:\n%v", got, err)
		}
	}
}

// A variable that is named like a setting and sets none is reported, with the setting that may be meant.
func TestUnknownVariables(t *testing.T) {
	c := Config{Keys: defaultKeys(), Origins: map[string]string{}}
	var told strings.Builder
	c.warnOfUnknown(Source{Program: "qb", Warn: &told}, []string{"QB_WORKER_CPU=3", "QB_WORKER_CPUS=3", "QB_SUPERVISOR=http://x", "QB_FRAME_NUMBER=1", "QB_TOKEN=secret", "QB_STATE=/x", "HOME=/root"})
	if want := "qb: ignoring QB_WORKER_CPU: it is no setting; did you mean QB_WORKER_CPUS?\n"; told.String() != want {
		t.Errorf("told %q, want %q", told.String(), want)
	}
}

// The environment's text never becomes more than one value.
func FuzzTOMLString(f *testing.F) {
	f.Add("a\"b\\c\n'\x00\x7f")
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		var v struct{ V string }
		if _, err := toml.Decode("v = "+tomlString(text), &v); err != nil || v.V != text {
			t.Errorf("%q comes back as %q, %v", text, v.V, err)
		}
	})
}

// TestTake: every setting of a supervisor comes through JSON as it is in force there, with its origin, whatever was
// read here.
func TestTake(t *testing.T) {
	there := settings.DefaultConfig()
	for n := range reflect.TypeFor[settings.Config]().NumField() {
		field := reflect.ValueOf(&there).Elem().Field(n)
		_, special := field.Addr().Interface().(encoding.TextUnmarshaler)
		switch kind := field.Kind(); {
		case special: // has few values
		case kind == reflect.Int, kind == reflect.Int64:
			field.SetInt(field.Int() + 7)
		case kind == reflect.Float64:
			field.SetFloat(field.Float() + 0.25)
		case kind == reflect.Bool:
			field.SetBool(!field.Bool())
		case kind == reflect.String:
			field.SetString(field.String() + " <ü>")
		}
	}
	there.Origins = map[string]string{"supervisor_listen": "option -listen"}
	var list []api.SupervisorSetting
	settings.InForce(there, there, func(key string, value any, origin string) {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(key, err)
		}
		list = append(list, api.SupervisorSetting{Key: key, Value: data, Origin: origin})
	})
	there.DatabaseURL, there.Origins = "***", nil
	c := Config{Keys: defaultKeys(), Origins: map[string]string{"supervisor_listen": "qb.conf:3"}}
	if err := c.Take(append(list, api.SupervisorSetting{Key: "supervisor_of_tomorrow", Value: json.RawMessage("1")})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(there, c.SupervisorKeys, cmp.AllowUnexported(settings.Config{})); diff != "" {
		t.Error(diff)
	}
	var out, remarks strings.Builder
	if err := c.Show(&out, &remarks, true, []string{"supervisor_listen"}, "http://farm", ""); err != nil || remarks.String() != "" {
		t.Fatal(err, remarks.String())
	}
	if !strings.HasSuffix(out.String(), "# option -listen\n") {
		t.Error(out.String())
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	c := Config{Keys: defaultKeys(), Origins: map[string]string{"database_url": "qb.conf:3"}}
	c.DatabaseURL = "postgres://qb:hunter2@db/qb"
	var out strings.Builder
	if err := c.Show(&out, io.Discard, true, nil, "", "none answers"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hunter2") || !strings.Contains(out.String(), `database_url = "***"`) {
		t.Errorf("config show prints\n%s", out.String())
	}
	if !strings.Contains(out.String(), "# qb.conf:3\n") || !strings.Contains(out.String(), "# default\n") {
		t.Errorf("config show -origin does not say where from:\n%s", out.String())
	}
}
