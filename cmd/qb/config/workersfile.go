package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/statedir"
	"qb/supervisor/farm/central"
	workersettings "qb/worker/settings"
)

// Limits of a file of workers' settings.
const (
	mostSections = 10_000
	mostWorkers  = 4 << 20 // bytes of the file
)

// workersText is the file as TOML has it.
type workersText struct {
	Default map[string]any            `toml:"default"`
	Group   map[string]map[string]any `toml:"group"`
	Host    map[string]map[string]any `toml:"host"`
}

// Workers reads the file of supervisor_worker_configfile; nil if there is none. Each setting must be allowed to be
// central, and good for a worker that has only this.
func Workers(name string) (*central.Sections, error) {
	if name == "" {
		return nil, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, api.BadSetting("supervisor_worker_configfile", ": %v", err)
	}
	if info.Size() > mostWorkers {
		return nil, api.BadSetting("supervisor_worker_configfile", ": %s has %d bytes, more than %d", name, info.Size(),
			mostWorkers)
	}
	text, err := statedir.ReadRegular(name)
	if err != nil {
		return nil, api.BadSetting("supervisor_worker_configfile", ": %v", err)
	}
	return workersOf(name, string(text))
}

func workersOf(name, text string) (*central.Sections, error) {
	var file workersText
	meta, err := toml.Decode(text, &file)
	if err != nil {
		return nil, syntaxError(name, text, err)
	}
	for _, key := range meta.Keys() {
		if !slices.Contains([]string{"default", "group", "host"}, key[0]) {
			return nil, api.Errorf(api.KindInvalid,
				"%s: unknown section or key %q; write settings below [default], [group.NAME] or [host.NAME]", name, key.String())
		}
	}
	s := &central.Sections{File: name, Groups: map[string]central.Section{}, Hosts: map[string]central.Section{}}
	if s.Default, err = sectionOf(name, "default", file.Default); err != nil {
		return nil, err
	}
	for _, group := range slices.Sorted(maps.Keys(file.Group)) {
		if _, groups := file.Group[group]["worker_groups"]; groups {
			return nil, api.Errorf(api.KindInvalid,
				"%s: [group.%s]: worker_groups cannot be set for a group; set it below [default] or [host.NAME]", name,
				output.Escape(group))
		}
		if s.Groups[group], err = sectionOf(name, "group."+group, file.Group[group]); err != nil {
			return nil, err
		}
	}
	for _, host := range slices.Sorted(maps.Keys(file.Host)) {
		section, err := sectionOf(name, "host."+host, file.Host[host])
		if err != nil {
			return nil, err
		}
		names, err := hostNames(host)
		if err != nil {
			return nil, api.Errorf(api.KindInvalid, "%s: [host.%s]: %v", name, output.Escape(host), err)
		}
		for _, one := range names {
			if _, twice := s.Hosts[one]; twice {
				return nil, api.Errorf(api.KindInvalid, "%s: host %q has two sections; write one", name, one)
			}
			s.Hosts[one] = section
		}
		if len(s.Hosts) > mostSections {
			return nil, api.Errorf(api.KindInvalid, "%s: more than %d hosts; use groups", name, mostSections)
		}
	}
	return s, nil
}

// sectionOf checks one section.
func sectionOf(file, name string, values map[string]any) (central.Section, error) {
	section := central.Section{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(workersettings.CentralKeys, key) {
			why := "comes only from the worker's own qb.conf; may be set here: " + strings.Join(workersettings.CentralKeys, ", ")
			if !slices.Contains(Names(), key) {
				why = "is no setting" + output.DidYouMean("", key, workersettings.CentralKeys)
			}
			return nil, api.Errorf(api.KindInvalid, "%s: [%s]: %s %s", file, output.Escape(name), output.Escape(key), why)
		}
		text, err := json.Marshal(values[key])
		if err != nil {
			return nil, api.Errorf(api.KindInvalid, "%s: [%s]: %s: %v", file, output.Escape(name), key, err)
		}
		section[key] = text
	}
	c := workersettings.DefaultConfig()
	c.State, c.Supervisor = "/", []string{"http://localhost"}
	c, err := c.WithCentral(section, nil)
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return nil, api.Errorf(api.KindInvalid, "%s: [%s]: %s", file, output.Escape(name), output.Escape(err.Error()))
	}
	return section, nil
}

var numbered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([^\[\]]*)\[([0-9]+)-([0-9]+)\]([^\[\]]*)$`)
})

// hostNames are the hosts that a section is for: rn[01-20] means rn01 to rn20.
func hostNames(text string) ([]string, error) {
	if !strings.ContainsAny(text, "[]") {
		return []string{text}, nil
	}
	parts := numbered().FindStringSubmatch(text)
	if parts == nil {
		return nil, fmt.Errorf("write a name, or one range of numbers such as rn[01-20]")
	}
	first, err1 := strconv.Atoi(parts[2])
	last, err2 := strconv.Atoi(parts[3])
	if err1 != nil || err2 != nil || last < first || last-first >= mostSections {
		return nil, fmt.Errorf("%s-%s is no range of at most %d numbers", parts[2], parts[3], mostSections)
	}
	var names []string
	for n := first; n <= last; n++ {
		names = append(names, fmt.Sprintf("%s%0*d%s", parts[1], len(parts[2]), n, parts[4]))
	}
	return names, nil
}
