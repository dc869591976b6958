package translate

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"qb/agenda"
	"qb/supervisor/job/facts"
)

// heard are attributes of which a host gets a name or number that no process of the owner can be made to run: the name
// goes nowhere, and the group is a number in a variable.
var heard = []string{"name", "pgrp"}

// TestWhatRunsIsMarked: each attribute says what a change of it comes to, and what a worker gets of a job to run its
// items is marked as deciding what runs.
func TestWhatRunsIsMarked(t *testing.T) {
	page, err := os.ReadFile("../../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range facts.Attributes {
		a := &facts.Attributes[i]
		if a.Effect == facts.Unmarked {
			t.Errorf("%s has no mark; say in facts.Attributes what a change of it by another than the job's owner comes to",
				a.Name)
		}
		if a.Effect == facts.Decides && a.Change != "" && !strings.Contains(string(page), "`"+a.Name+"`") {
			t.Errorf("docs/security.md does not say that %s decides what runs", a.Name)
		}
		var reaches []string
		for _, other := range samplesOf(t, a) {
			var without, with facts.JobFacts
			a.Set(&with, other)
			one, two := reflect.ValueOf(jobSpec(without)), reflect.ValueOf(jobSpec(with))
			for n := range one.NumField() {
				f := one.Type().Field(n)
				if f.IsExported() && !reflect.DeepEqual(one.Field(n).Interface(), two.Field(n).Interface()) {
					reaches = append(reaches, f.Name)
				}
			}
		}
		if len(reaches) > 0 && a.Effect != facts.Decides && !strings.Contains(strings.Join(heard, " "), a.Name) {
			t.Errorf("%s is not marked as deciding what runs, and reaches the hosts as %v", a.Name, reaches)
		}
		if len(reaches) == 0 && a.Effect == facts.Decides && a.Change != "" {
			t.Errorf("%s is marked as deciding what runs, and reaches no host", a.Name)
		}
	}
}

// samplesOf are values of an attribute other than its zero.
func samplesOf(t *testing.T, a *facts.Attribute) []any {
	t.Helper()
	switch a.Value(new(facts.JobFacts)).(type) {
	case *string:
		return []any{"x"}
	case *agenda.Order:
		return []any{agenda.Reverse}
	case *int, **int, *facts.JobID:
		return []any{1}
	case *bool:
		return []any{true}
	case *[]string:
		return []any{[]string{"x"}, facts.Flags}
	case *map[string]string:
		return []any{map[string]string{"x": "y"}}
	}
	t.Fatalf("%s is of a type that this test does not know", a.Name)
	return nil
}
