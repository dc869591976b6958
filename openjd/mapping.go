package openjd

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A PathRule replaces the beginning of a path of the submitting system by that of the host.
type PathRule struct {
	Format      string `json:"source_path_format"` // POSIX or WINDOWS
	Source      string `json:"source_path"`
	Destination string `json:"destination_path"`
}

const (
	pathRulesVersion = "pathmapping-1.0"
	maxPathRules     = 10_000
)

// A pathRules document is the file that a session gives to its programs.
type pathRules struct {
	Version string     `json:"version"`
	Rules   []PathRule `json:"path_mapping_rules"`
}

// ReadPathRules reads the JSON of path mapping rules.
func ReadPathRules(document []byte) ([]PathRule, error) {
	var d pathRules
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, fmt.Errorf("path mapping rules: not JSON with version and path_mapping_rules: %w", err)
	}
	switch {
	case d.Version != pathRulesVersion:
		return nil, fmt.Errorf("path mapping rules: the version is %s; it must be %s", quote(d.Version), pathRulesVersion)
	case len(d.Rules) > maxPathRules:
		return nil, fmt.Errorf("path mapping rules: there are %d rules, and at most %d are read", len(d.Rules), maxPathRules)
	}
	for i, rule := range d.Rules {
		switch {
		case rule.Format != "POSIX" && rule.Format != "WINDOWS":
			return nil, fmt.Errorf("path mapping rules: source_path_format of rule %d is %s; it must be POSIX or WINDOWS",
				i+1, quote(rule.Format))
		case rule.Source == "" || rule.Destination == "":
			return nil, fmt.Errorf("path mapping rules: rule %d has no source_path or no destination_path", i+1)
		}
	}
	return d.Rules, nil
}

// WritePathRules is the JSON of path mapping rules.
func WritePathRules(rules []PathRule) []byte {
	if rules == nil {
		rules = []PathRule{}
	}
	text, err := json.MarshalIndent(pathRules{pathRulesVersion, rules}, "", "  ")
	if err != nil {
		panic(err) // strings are always written
	}
	return append(text, '\n')
}

// MapPath applies the rule with the longest source that a path is in. A path that no rule is for stays as it is.
func MapPath(rules []PathRule, p string) string {
	sorted := slices.Clone(rules)
	slices.SortStableFunc(sorted, func(a, b PathRule) int { return len(b.Source) - len(a.Source) })
	for _, rule := range sorted {
		if mapped, ok := rule.apply(p); ok {
			return mapped
		}
	}
	return p
}

// apply compares whole parts of paths, those of Windows without case and with both slashes.
func (rule PathRule) apply(p string) (string, bool) {
	source := rule.parts(rule.Source)
	parts := rule.parts(p)
	if len(parts) < len(source) {
		return "", false
	}
	for i, want := range source {
		got := parts[i]
		if got != want && !(rule.Format == "WINDOWS" && strings.EqualFold(got, want)) {
			return "", false
		}
	}
	rest := strings.Join(parts[len(source):], "/")
	if rest == "" {
		return rule.Destination, true
	}
	return strings.TrimRight(rule.Destination, "/") + "/" + rest, true
}

// parts are the root of a path, "" if it is relative, and its names.
func (rule PathRule) parts(p string) []string {
	if rule.Format == "WINDOWS" {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	root := ""
	switch {
	case strings.HasPrefix(p, "//"):
		root = "//"
	case strings.HasPrefix(p, "/"):
		root = "/"
	}
	if rule.Format == "POSIX" && root == "//" {
		root = "/"
	}
	parts := []string{root}
	for name := range strings.SplitSeq(p, "/") {
		if name != "" && name != "." {
			parts = append(parts, name)
		}
	}
	return parts
}

// Symbols are the values that the format strings of an environment's or a step's actions refer to on a host, except
// for those of the session itself, of embedded files and of tasks.
func (j *Job) Symbols(rules []PathRule) map[string]string {
	out := map[string]string{}
	for _, v := range j.Values {
		out["RawParam."+v.Name] = v.Value
		out["Param."+v.Name] = v.Value
		if v.Type == Path {
			out["Param."+v.Name] = MapPath(rules, v.Value)
		}
	}
	return out
}

// TaskSymbols are the values that the format strings of a step's script refer to for one task.
func TaskSymbols(values []TaskValue, rules []PathRule) map[string]string {
	out := map[string]string{}
	for _, v := range values {
		out["Task.RawParam."+v.Name] = v.Value
		out["Task.Param."+v.Name] = v.Value
		if v.Type == TaskPath {
			out["Task.Param."+v.Name] = MapPath(rules, v.Value)
		}
	}
	return out
}
