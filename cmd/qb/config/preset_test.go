package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Each preset is valid by itself, sets only what is off by default, and warns of nothing.
func TestPresetsAreClean(t *testing.T) {
	for _, p := range presets {
		c := &Config{Keys: defaultKeys(), Origins: map[string]string{}}
		if err := c.parse(p.name, p.text(p.lines)); err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
		for _, w := range c.warnings() {
			t.Errorf("%s: %s", p.name, w.text)
		}
		for _, l := range p.lines {
			if !c.unlike(l.key) {
				t.Errorf("%s sets %s, which is so by default", p.name, l.key)
			}
		}
	}
}

// TestPresetIntoFile writes presets into files that have some of their settings, others, tables and comments: what was
// there means what it meant, the preset acts, and a second time changes nothing. A file that says otherwise is refused
// and left as it is.
func TestPresetIntoFile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := rapid.SampledFrom(presets).Draw(rt, "preset")
		before := []string{"# ours", "supervisor_default_priority = 500", "worker_pass_env = [", "  'LICENCE'", "]"}
		otherwise := false
		for _, l := range p.lines {
			switch rapid.IntRange(0, 3).Draw(rt, l.key) {
			case 0:
				before = append(before, l.key+" = "+l.value+" # as it is")
			case 1:
				if rapid.IntRange(0, 3).Draw(rt, "otherwise") == 0 {
					usual := (&Config{Keys: defaultKeys()}).settings()
					for _, s := range usual {
						if s.key == l.key {
							before, otherwise = append(before, l.key+" = "+s.shown()), true
						}
					}
				}
			}
		}
		if rapid.Bool().Draw(rt, "table") {
			before = append(before, "[worker_path_map]", "'/a' = '/b'")
		}
		text := strings.Join(before, "\n")
		file := filepath.Join(t.TempDir(), "qb.conf")
		if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
			rt.Fatal(err)
		}
		was := &Config{Keys: defaultKeys(), Origins: map[string]string{}}
		if err := was.parse(file, text); err != nil {
			rt.Fatal(err)
		}
		var out strings.Builder
		err := Preset(p.name, file, &out)
		data, _ := os.ReadFile(file)
		if otherwise {
			if err == nil || string(data) != text {
				rt.Fatalf("a file that says otherwise is changed: %v\n%s", err, data)
			}
			return
		}
		if err != nil || !strings.HasSuffix(string(data), text) {
			rt.Fatalf("%v\n%s", err, data)
		}
		is := &Config{Keys: defaultKeys(), Origins: map[string]string{}}
		if err := is.parse(file, string(data)); err != nil {
			rt.Fatal(err)
		}
		mine := map[string]string{}
		for _, l := range p.lines {
			mine[l.key] = l.value
		}
		old := was.settings()
		for n, s := range is.settings() {
			if want, own := mine[s.key]; own && !strings.Contains(s.shown(), strings.Trim(want, `"`)) && s.key != "worker_swap_limit" {
				rt.Fatalf("%s is %s, not %s", s.key, s.shown(), want)
			} else if !own && s.shown() != old[n].shown() {
				rt.Fatalf("%s was %s and is %s", s.key, old[n].shown(), s.shown())
			}
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
			rt.Fatalf("mode %v, %v", info.Mode(), err)
		}
		out.Reset()
		again := Preset(p.name, file, &out)
		if twice, _ := os.ReadFile(file); again != nil || string(twice) != string(data) || !strings.Contains(out.String(), "nothing was changed") {
			rt.Fatalf("again: %v, %s", again, out.String())
		}
	})
}

// Files that are none, that are broken, or of Qube's form are refused; what is not there is made.
func TestPresetRefusals(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		dir: "is no file", write("broken", "supervisor_fairshare = ["): "broken:1", write("unknown", "supervisor_fair = 1"): "unknown key",
		write("qube", "qb_domain = x\nsupervisor_max_threads = 3\n"): "Qube!'s form", filepath.Join(dir, "link"): "link to nothing",
		filepath.Join(dir, "no", "folder"): "no such file", write("invalid", "supervisor_max_priority = 0"): "supervisor_max_priority",
	} {
		before, _ := os.ReadFile(file)
		var out strings.Builder
		if err := Preset("lab", file, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
		if after, _ := os.ReadFile(file); string(after) != string(before) {
			t.Errorf("%s was changed", file)
		}
	}
	var out strings.Builder
	if err := Preset("lab", filepath.Join(dir, "new"), &out); err != nil {
		t.Error(err)
	}
	if err := Preset("home", "", &out); err == nil || !strings.Contains(err.Error(), "use studio or lab") {
		t.Errorf("no such preset: %v", err)
	}
}
