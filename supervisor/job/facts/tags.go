package facts

import "slices"

// TagNames are what a job can be tagged with, for reports; the names are Qube's.
var TagNames = [...]string{"prod_show", "prod_seq", "prod_shot", "prod_dept", "prod_client",
	"prod_custom1", "prod_custom2", "prod_custom3", "prod_custom4", "prod_custom5"}

// Tags are the values of TagNames, each at its name's place; "" for none. They can be compared.
type Tags [len(TagNames)]string

// TagsOf reads values by name. Names that are none are returned, by alphabet.
func TagsOf(values map[string]string) (t Tags, unknown []string) {
	for name, value := range values {
		if n := slices.Index(TagNames[:], name); n >= 0 {
			t[n] = value
		} else {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return t, unknown
}

// With is t after a change of some by name; "" takes a tag away.
func (t Tags) With(values map[string]string) Tags {
	for n, name := range TagNames {
		if value, given := values[name]; given {
			t[n] = value
		}
	}
	return t
}

// Map has the tags that are set, by name.
func (t Tags) Map() map[string]string {
	values := map[string]string{}
	for n, value := range t {
		if value != "" {
			values[TagNames[n]] = value
		}
	}
	return values
}
