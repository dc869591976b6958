package settings

import (
	"cmp"
	"reflect"
	"slices"
)

// Changed compares two configurations by key. Changed lists the keys that differ from the configuration in force; kept
// lists the keys that are read at the start only and differ from their value then.
func Changed(old, started, read Config) (changed, kept []string) {
	was := reflect.ValueOf(old)
	began := reflect.ValueOf(started)
	is := reflect.ValueOf(read)
	for n := range is.NumField() {
		field := is.Type().Field(n)
		key := field.Tag.Get("toml")
		differs := func(from reflect.Value) bool {
			return !reflect.DeepEqual(from.Field(n).Interface(), is.Field(n).Interface())
		}
		switch {
		case key == "-": // no setting
		case field.Tag.Get("restart") != "true":
			if differs(was) {
				changed = append(changed, key)
			}
		case differs(began):
			kept = append(kept, key)
		}
	}
	return changed, kept
}

// InForce visits the settings in force, by key, of a process that was started with one configuration and has read
// another since: settings that are read at the start only have the value of started. Secrets are left out.
func InForce(started, now Config, visit func(key string, value any, origin string)) {
	began, is := reflect.ValueOf(started), reflect.ValueOf(now)
	for n := range is.NumField() {
		field := is.Type().Field(n)
		value := is.Field(n)
		origins := now.Origins
		key := field.Tag.Get("toml")
		if field.Tag.Get("restart") == "true" {
			value, origins = began.Field(n), started.Origins
		}
		if key == "-" {
			continue
		}
		shown := value.Interface()
		if field.Tag.Get("secret") == "true" && !value.IsZero() {
			shown = "***"
		}
		visit(key, shown, cmp.Or(origins[key], "default"))
	}
}

// Values are the values of these keys, for the audit trail, without secrets.
func Values(c Config, keys []string) map[string]any {
	values, v := map[string]any{}, reflect.ValueOf(c)
	for n := range v.NumField() {
		field := v.Type().Field(n)
		if key := field.Tag.Get("toml"); slices.Contains(keys, key) {
			if values[key] = v.Field(n).Interface(); field.Tag.Get("secret") == "true" {
				values[key] = "***"
			}
		}
	}
	return values
}
