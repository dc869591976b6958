package settings

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"qb/api"
)

// CentralKeys are the settings that the supervisor's file may set: they only say what the host offers. As whom items
// run, which programs and folders the worker uses and what it keeps is for its own configuration alone.
var CentralKeys = []string{
	"worker_cpus", "worker_cluster", "worker_groups", "worker_properties", "worker_job_types", "worker_flags",
	"worker_resources", "worker_scratch",
	"worker_memory", "worker_memory_reserve", "worker_swap_limit", "worker_foreign_cpu", "worker_calendar", "worker_nimby",
	"worker_kept_slots",
	"worker_kept_action", "worker_spec",
}

// WithCentral is the configuration with values of the supervisor's file, except for the ones that the own one sets.
func (c Config) WithCentral(values map[string]json.RawMessage, own []string) (Config, error) {
	into := reflect.ValueOf(&c).Elem()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(CentralKeys, key) {
			return c, fmt.Errorf("%s comes only from the worker's own qb.conf", key)
		}
		if slices.Contains(own, key) {
			continue
		}
		if err := setField(into.FieldByIndex(fieldOf(key).Index), values[key]); err != nil {
			return c, fmt.Errorf("%s = %s: %w", key, values[key], err)
		}
	}
	return c, nil
}

// fieldOf is the member of Config that a key sets.
func fieldOf(key string) reflect.StructField {
	for field := range reflect.TypeFor[Config]().Fields() {
		if field.Tag.Get("toml") == key {
			return field
		}
	}
	panic("settings: no setting " + key)
}

// setField sets a setting; sizes and durations are texts, or numbers, as in qb.conf.
func setField(field reflect.Value, value json.RawMessage) error {
	if text, ok := field.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return text.UnmarshalText([]byte(strings.Trim(string(value), `"`)))
	}
	fresh := reflect.New(field.Type())
	if err := json.Unmarshal(value, fresh.Interface()); err != nil {
		return errors.New("not a value of this setting")
	}
	field.Set(fresh.Elem())
	return nil
}

// Shown are the settings that may be central, with where they come from.
func (c Config) Shown(central map[string]json.RawMessage, own []string) []api.Setting {
	list := make([]api.Setting, 0, len(CentralKeys))
	for _, key := range CentralKeys {
		value := reflect.ValueOf(c).FieldByIndex(fieldOf(key).Index)
		s := api.Setting{Key: key, Value: fmt.Sprint(value.Interface()), Origin: "built in"}
		if text, err := json.Marshal(value.Interface()); err == nil &&
			(value.Kind() == reflect.Slice || value.Kind() == reflect.Map) {
			s.Value = string(text)
		}
		if _, set := central[key]; slices.Contains(own, key) {
			s.Origin = "own"
		} else if set {
			s.Origin = "central"
		}
		list = append(list, s)
	}
	return list
}
