package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/statedir"
)

// preset is a combination of settings that are off by default, each of which is tested with the others.
type preset struct {
	name, purpose string
	lines         []presetLine
}

type presetLine struct{ key, value, purpose string }

// machines are the lines of hosts that are not the farm's alone.
var machines = []presetLine{
	{"worker_swap_limit", `"10MiB"`, "a host that swaps more takes nothing new, and then gives secondary instances back"},
	{"worker_foreign_cpu", `"slots"`, "a host whose processors other programs use offers fewer slots"},
}

var presets = []preset{
	{"studio", "people who work at the same time have equal parts of the farm now, whatever they used before",
		slices.Concat([]presetLine{
			{"supervisor_cpu_share", `"stride"`, "users whose jobs compete for slots get equal slot time"},
			{"supervisor_smart_share_mode", `"users"`, "surplus slots are divided by user, then among the jobs of each"},
		}, machines)},
	{"lab", "who has used less of the farm in the past days goes first", slices.Concat([]presetLine{
		{"supervisor_fairshare", `"order"`, "owners are ranked by past usage; a priority orders its owner's own jobs"},
		{"supervisor_smart_share_mode", `"users"`, "surplus slots are divided by user, then among the jobs of each"},
		{"supervisor_smart_share_weights", `"fairshare"`, "who has used less has more of them"},
	}, machines)},
}

// Presets are the names of all presets.
func Presets() (names []string) {
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}

func (p *preset) text(lines []presetLine) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Preset %s: %s.\n", p.name, p.purpose)
	for _, l := range lines {
		fmt.Fprintf(&b, "%-50s # %s\n", l.key+" = "+l.value, l.purpose)
	}
	return b.String()
}

// Preset prints the settings of a preset, or with a file's name writes those into it that it lacks. A file that says
// otherwise, or that is not valid with them, is left as it is.
func Preset(name, file string, out io.Writer) error {
	n := slices.IndexFunc(presets, func(p preset) bool { return p.name == name })
	if n < 0 {
		return api.Errorf(api.KindUsage, "there is no preset %q; use %s", name, strings.Join(Presets(), " or "))
	}
	p := &presets[n]
	if file == "" {
		_, err := io.WriteString(out, p.text(p.lines))
		return err
	}
	before, mode, path, err := readForChange(file)
	if err != nil {
		return err
	}
	missing, err := p.missing(file, before)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		_, err := fmt.Fprintf(out, "%s has all settings of the preset %s; nothing was changed\n", output.Escape(file), p.name)
		return err
	}
	after := p.text(missing) + before // a table may be at the end
	c := &Config{Keys: defaultKeys(), Origins: map[string]string{}}
	bad, err := c.take(file, after)
	if err != nil {
		return err
	}
	if bad = append(bad, c.refused(c.invalid())...); len(bad) > 0 {
		return fmt.Errorf("nothing was changed: with the preset %s: %w", p.name, bad.error())
	}
	if err := statedir.ReplaceWith(path, mode, []byte(after)); err != nil {
		return api.Errorf(api.KindInvalid, "configuration: %v", err)
	}
	for _, l := range missing {
		fmt.Fprintf(out, "%s: %s = %s\n", output.Escape(file), l.key, l.value)
	}
	for _, one := range c.warnings() {
		fmt.Fprintln(out, one.text)
	}
	_, err = fmt.Fprintln(out,
		"to let them act: qbadmin supervisor -reread, and start workers again with qbadmin worker -restart HOST; worker_ settings act on hosts that have this file")
	return err
}

// readForChange reads a file that is to be changed, "" if there is none yet. path is where it is, behind links.
func readForChange(file string) (text string, mode fs.FileMode, path string, err error) {
	path, err = filepath.EvalSymlinks(file)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(file); err == nil {
			return "", 0, "", api.Errorf(api.KindInvalid, "configuration: %s is a link to nothing", output.Escape(file))
		}
		return "", 0o644, file, nil
	}
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(path); err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is no file", output.Escape(file))
		} else if err == nil {
			mode = info.Mode().Perm()
		}
	}
	if err != nil {
		return "", 0, "", api.Errorf(api.KindInvalid, "configuration: %v", err)
	}
	text, err = readNamed(path)
	return text, mode, path, err
}

// missing are the lines that a file lacks, or an error if it says otherwise or cannot be read.
func (p *preset) missing(file, text string) (lines []presetLine, err error) {
	if _, qubes := inQubesForm(text); qubes {
		return nil, api.Errorf(api.KindInvalid, "%s is in Qube!'s form; make it qb's first: qb config import %s",
			output.Escape(file), output.Escape(file))
	}
	has, wants := &Config{Keys: defaultKeys(), Origins: map[string]string{}},
		&Config{Keys: defaultKeys(), Origins: map[string]string{}}
	if err := has.parse(file, text); err != nil {
		return nil, err
	}
	if err := wants.parse(p.name, p.text(p.lines)); err != nil {
		return nil, err
	}
	var bad problems
	mine, theirs := has.settings(), wants.settings()
	for _, l := range p.lines {
		n := slices.IndexFunc(mine, func(s setting) bool { return s.key == l.key })
		switch line := has.lines[l.key]; {
		case line == 0:
			lines = append(lines, l)
		case !reflect.DeepEqual(mine[n].value.Interface(), theirs[n].value.Interface()):
			bad = append(bad, problem{line, fmt.Sprintf("%s:%d: %s = %s, and the preset %s has %s; remove the line, or set what you want of `qb config preset %s` by hand",
				output.Escape(file), line, l.key, mine[n].shown(), p.name, l.value, p.name)})
		}
	}
	if len(bad) > 0 {
		return nil, bad.error()
	}
	return lines, nil
}
