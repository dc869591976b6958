package settings

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"qb/supervisor/job/facts"
)

// Width is a max_cpus value: a number, or "*" (any negative number) for no limit but the site's. A negative one is kept
// as it was written, for a remark; Limit is what it means.
type Width int

func (w Width) String() string {
	if w < 0 {
		return "*"
	}
	return strconv.Itoa(int(w))
}

// Limit returns the number that the width means.
func (w Width) Limit() int { return max(int(w), facts.NoLimit) }

// MarshalText is String.
func (w Width) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads an integer or "*".
func (w *Width) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if s == "*" {
		*w = facts.NoLimit
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("%q is neither a whole number nor \"*\"", s)
	}
	*w = Width(n)
	return nil
}

// UnmarshalTOML reads an integer or "*".
func (w *Width) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case int64:
		*w = Width(v)
		return nil
	case string:
		return w.UnmarshalText([]byte(v))
	}
	return fmt.Errorf("%v is neither a whole number nor \"*\"", value)
}

// WidthRemarks say by key which negative widths could be meant as differences.
func (c Config) WidthRemarks() map[string]string {
	remarks := map[string]string{}
	add := func(key string, width int) {
		if width < facts.NoLimit {
			remarks[key] = facts.NoLimitRemark(width)
		}
	}
	all := reflect.ValueOf(c)
	for i := range all.NumField() {
		if width, ok := all.Field(i).Interface().(Width); ok {
			add(all.Type().Field(i).Tag.Get("toml"), int(width))
		}
	}
	for key, pairs := range map[string]string{"supervisor_user_subjob_limits": c.UserLimits,
		"supervisor_pgrp_subjob_limits": c.PGrpLimits, "supervisor_account_subjob_limits": c.AccountLimits} {
		limits, _ := readLimits(key, pairs) // Validate refuses what cannot be read
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			add(key, limits[name])
		}
	}
	return remarks
}
