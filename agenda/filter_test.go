package agenda

import (
	"strings"
	"testing"
)

var filterFields = []Property{{"name", KindText}, {"user", KindText}, {"status", KindText}, {"priority", KindNumber}, {"flags", KindList}}

func filterJob(name string) (Value, bool) {
	switch name {
	case "name":
		return TextValue("shot_010_comp"), true
	case "user":
		return TextValue("ana"), true
	case "status":
		return TextValue("failed"), true
	case "priority":
		return NumberValue(100), true
	case "flags":
		return ListValue([]string{"host_slots"}), true
	}
	return Value{}, false
}

func TestFilterPasses(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "  ": true,
		"user = ana": true, "user = an": false, "user != ben": true, "ana = user": true,
		"priority <= 100 && (status=failed || status=killed)": true,
		"priority < 100 or status = killed":                   false,
		`status in "failed,killed"`:                           true,
		"name = *comp":                                        true,
		"name = *Comp":                                        false,
		"name = shot_*":                                       true,
		"name = shot%_comp":                                   true,
		"name = %010_com_":                                    true,
		"name = shot_010_com_":                                false, // no wildcard at its beginning: _ is a letter
		"name != *comp":                                       false,
		"*comp = name":                                        true,
		`name = "~^shot_\\d+_comp$"`:                          true,
		"name = ~^light":                                      false,
		`name in "*comp"`:                                     false, // literally
		"flags has host_slots":                                true,
		"not user = ben and not (priority > 100)":             true,
		`name = "~(a+)+$" or name = "~` + "(x*)*y" + `"`:      false,
		`user = "ana" and name = "shot_010_comp"`:             true,
		"status = done":                                       false,
	} {
		f, err := ParseFilter(text, filterFields)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := f.Passes(filterJob); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	f, _ := ParseFilter("user = ana and priority > 3", filterFields)
	if !f.Uses("user") || !f.Uses("priority") || f.Uses("status") {
		t.Error("Uses does not say which properties the filter has")
	}
}

func TestFilterErrorsNameTheColumn(t *testing.T) {
	for text, want := range map[string]string{
		"prioriti = 3":              `filter, column 1: "prioriti" is not a property; did you mean priority?`,
		"job.priority > 5":          `filter, column 1: "job.priority" is not a property; did you mean priority?`,
		"5 < zzz":                   `filter, column 5: "zzz" is not a property; there are name, user, status, priority, flags`,
		"zzz = yyy":                 `filter, column 1: neither "zzz" nor "yyy" is a property; there are name, user, status, priority, flags`,
		"user = ana and":            "filter, column 15: a condition such as status = failed is missing at the end",
		"priority <= high":          `filter, column 13: priority is a number, and "high" is not; write a number without a unit`,
		`user = "~("`:               `filter, column 8: "~(" is no regular expression (error parsing regexp: missing closing )`,
		"(user = ana":               "filter, column 1: this parenthesis is never closed; add a )",
		"user = 'ana":               "filter, column 8: the quoted text does not end; close it with '",
		"user":                      "filter, column 1: user is not true or false; compare it with something, as in user = …",
		"flags = x":                 "filter, column 1: flags is a list; write flags has …",
		"user = ana; drop table":    `filter, column 13: "drop" is not expected here`,
		strings.Repeat("x", 20_000): "the text has 20000 bytes, more than 16384; use fewer conditions",
	} {
		_, err := ParseFilter(text, filterFields)
		if err == nil {
			t.Errorf("%.40s: no error", text)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v\nwant %s", text, err, want)
		}
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("priority <= 100 && (status=failed || name = *x*)")
	f.Add(`name = "~^(a|b)+$" or not flags has x`)
	f.Fuzz(func(t *testing.T, text string) {
		if parsed, err := ParseFilter(text, filterFields); err == nil {
			parsed.Passes(filterJob)
		}
	})
}
