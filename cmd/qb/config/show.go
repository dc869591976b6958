package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"qb/api"
	"qb/cmd/qb/output"
)

// Names are the names of all settings.
func Names() []string {
	c := defaultKeys()
	return keysOf(c.settings())
}

// groups are the parts of qb.conf by who uses them.
const (
	supervisorGroup = iota
	workerGroup
	clientGroup
)

// Show prints all settings, in groups with a title each, or the named ones; with origin also where each comes from.
// InForce is the URL of the supervisor whose settings they are; if it is "", they were read on this machine, and
// unanswered says why.
func (c *Config) Show(out, remarks io.Writer, origin bool, keys []string, inForce, unanswered string) error {
	for _, key := range keys {
		if names := Names(); !slices.Contains(names, key) {
			return api.Errorf(api.KindUsage, "there is no setting %q%s (qb config show lists all)", key,
				output.DidYouMean("", key, names))
		}
	}
	titles := [...]string{"supervisor settings in force at " + inForce,
		"worker settings as read here, used by a worker that starts on this machine; qbadmin worker -configuration HOST prints what a worker uses",
		"client settings as read here, used by commands"}
	if inForce == "" {
		titles[supervisorGroup] = "supervisor settings as read here, not those in force: " + unanswered
	}
	last := -1
	for _, s := range c.settings() {
		if len(keys) > 0 && !slices.Contains(keys, s.key) {
			continue
		}
		if s.group != last && len(keys) == 0 {
			fmt.Fprintf(out, "# %s\n", output.Escape(titles[s.group]))
		} else if s.group != last && s.group == supervisorGroup && inForce == "" {
			fmt.Fprintf(remarks, "%s\n", output.Escape(titles[s.group]))
		}
		last = s.group
		line := s.key + " = " + s.shown()
		if origin {
			line = fmt.Sprintf("%-56s # %s", line, output.Escape(cmp.Or(c.Origins[s.key], "default")))
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// Take replaces the supervisor's settings by the given ones. Settings that this version does not have are left out.
func (c *Config) Take(list []api.SupervisorSetting) error {
	all := c.settings()
	for _, given := range list {
		n := slices.IndexFunc(all, func(s setting) bool { return s.key == given.Key && s.group == supervisorGroup })
		if n < 0 {
			continue
		}
		value := reflect.New(all[n].value.Type())
		if err := json.Unmarshal(given.Value, value.Interface()); err != nil {
			return fmt.Errorf("the supervisor's %s: %w", output.Escape(given.Key), err)
		}
		all[n].value.Set(value.Elem())
		c.Origins[given.Key] = given.Origin
	}
	return nil
}

// shown is the value of a setting as it may be printed.
func (s setting) shown() string {
	if s.secret && !s.value.IsZero() {
		return `"***"`
	}
	return tomlValue(s.value)
}

const exampleHead = `# qb.conf: every setting with its default, commented out: take away the # to set one.
# qb reads the file named by -conf or QB_CONF. Without them it reads
# /etc/qb.conf, ~/.config/qb/qb.conf and ./qb.conf; a later file overrides an earlier one. ./qb.conf sets only
# client_priority, client_cluster, client_account, client_restrictions, worker_cpus, worker_cluster, worker_groups,
# worker_properties, worker_job_types and worker_flags. An environment variable overrides a setting:
# QB_ and the setting in capitals, such as QB_SUPERVISOR_MAX_CPUS_LIMIT=200.
# Durations are written as 90 (seconds), "5m", "1h30m" or "7d". This file is what ` + "`qb config example`" + ` prints.
`

// Example is a file that sets nothing: anyone who copies it keeps the defaults of later releases, and what other files
// say.
func Example() string {
	var b strings.Builder
	b.WriteString(exampleHead)
	c := defaultKeys()
	for _, s := range c.settings() {
		b.WriteString("\n")
		for _, line := range wrap(s.doc, 100) {
			b.WriteString("# " + line + "\n")
		}
		b.WriteString("#" + s.key + " = " + tomlValue(s.value) + "\n")
	}
	return b.String()
}

// tomlValue writes a value as TOML does; a value that TOML cannot write is a mistake in a config struct.
func tomlValue(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Slice:
		var words []string
		for i := range v.Len() {
			words = append(words, tomlValue(v.Index(i)))
		}
		return "[" + strings.Join(words, ", ") + "]"
	case reflect.Map:
		if v.Len() == 0 {
			return "{}"
		}
	}
	data, err := toml.Marshal(map[string]any{"v": v.Interface()})
	if err != nil {
		panic(fmt.Sprintf("a key of qb.conf has a type that TOML cannot write: %v", err))
	}
	if inline, ok := strings.CutPrefix(string(data), "[v]\n"); ok {
		var members []string
		for line := range strings.Lines(inline) {
			members = append(members, strings.TrimSpace(line))
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
	return strings.TrimSpace(strings.TrimPrefix(string(data), "v = "))
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
