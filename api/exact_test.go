package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// membersOf are the names of a struct's members in JSON.
func jsonMembers(t reflect.Type) map[string]reflect.Type {
	names := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names[name] = field.Type
		}
	}
	return names
}

// TestMembers: whatever member of a submission is given twice, in other capitals, or is none, it is refused by its
// name; and what encoding/json itself makes of the members, written once, is not.
func TestMembers(t *testing.T) {
	t.Parallel()
	all := slices.Sorted(maps.Keys(jsonMembers(reflect.TypeFor[SubmitRequest]())))
	of := reflect.TypeFor[JobArchive]()
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, 10, rapid.ID[string]).Draw(rt, "members")
		values := rapid.SampledFrom([]string{`1`, `"a{\"b\":[1,}"`, `[]`, `{}`, `{"x":1,"y":{"x":2}}`, `[{"x":1},{"x":1}]`, `null`})
		pairs := make([]string, len(some))
		for n, name := range some {
			value := values.Draw(rt, "value")
			if typ := jsonMembers(reflect.TypeFor[SubmitRequest]())[name]; typ.Kind() == reflect.Struct {
				value = "null"
			}
			pairs[n] = fmt.Sprintf("%q: %s", name, value)
		}
		document := func(pairs []string) []byte {
			return []byte(`{"format":"x","submission":{` + strings.Join(pairs, ", ") + `}}`)
		}
		if err := CheckExact(document(pairs), of); err != nil {
			rt.Fatalf("%s: %v", document(pairs), err)
		}
		bad, want := rapid.SampledFrom(some).Draw(rt, "bad"), ""
		switch rapid.SampledFrom([]string{"twice", "capitals", "unknown", "deep"}).Draw(rt, "how") {
		case "twice":
			pairs, want = append(pairs, fmt.Sprintf("%q: 7", bad)), "submission."+bad+" is given twice"
		case "capitals":
			other := strings.ToUpper(bad[:1]) + bad[1:]
			pairs, want = append(pairs, fmt.Sprintf("%q: 7", other)), "there is no member submission."+other+"; write "+bad
		case "unknown":
			pairs, want = append(pairs, `"nosuch": 1`), "there is no member submission.nosuch; leave it out"
		case "deep":
			pairs, want = []string{`"env": {"A": "1", "B": "2", "A": "3"}`}, "submission.env.A is given twice"
		}
		err := CheckExact(document(pairs), of)
		if err == nil || !strings.Contains(err.Error(), want) {
			rt.Fatalf("%s: %v, not %q", document(pairs), err, want)
		}
	})
}

// TestWordsOfJSON: what is of the wrong type is said with its member, and without a word of Go.
func TestWordsOfJSON(t *testing.T) {
	t.Parallel()
	for _, to := range []any{new(SubmitRequest), new(ModifyRequest), new(ActionRequest), new(ManyJobs)} {
		for name := range jsonMembers(reflect.TypeOf(to).Elem()) {
			for _, value := range []string{"2.5", `"x"`, "true", "[1]", `{"a":[]}`, "1e99"} {
				fresh := reflect.New(reflect.TypeOf(to).Elem()).Interface()
				err := DecodeError(json.Unmarshal(fmt.Appendf(nil, `{%q: %s}`, name, value), fresh))
				if err == nil {
					continue
				}
				if refusal := Refusal(err); refusal.Member != name || strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "json:") || !strings.HasPrefix(err.Error(), name) {
					t.Errorf("%T, %s: %s: %v (member %q)", to, name, value, err, refusal.Member)
				}
			}
		}
	}
}
