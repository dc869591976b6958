package translate

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync"

	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
)

// Given are the attributes that a change of a job gives, whatever their values.
func Given(r *api.ModifyRequest) (list []*facts.Attribute) {
	for i := range facts.Attributes {
		if a := &facts.Attributes[i]; valueIn(r, a) != nil {
			list = append(list, a)
		}
	}
	return list
}

// given checks and reads the attributes that a request gives: the members of an api.SubmitRequest that are not empty,
// and those of an api.ModifyRequest that are not nil.
func given(request any) (facts.JobChange, error) {
	var change facts.JobChange
	for i := range facts.Attributes {
		a := &facts.Attributes[i]
		value := valueIn(request, a)
		if value == nil {
			continue
		}
		if err := checkAttribute(a, value); err != nil {
			return change, err
		}
		change.Set(a.Name, a.Stored(value))
	}
	return change, nil
}

// valueIn is the attribute's value in a request, nil if it is not given.
func valueIn(request any, a *facts.Attribute) any {
	member := api.Member(request, cmp.Or(a.In, a.Name))
	if !member.IsValid() || member.IsZero() {
		return nil
	}
	value := reflect.Indirect(member).Interface()
	if a.In == "" {
		return value
	}
	if text, named := value.(map[string]string)[a.Name]; named {
		return text
	}
	return nil
}

// furtherChecks has the checks that need more than the table of attributes.
var furtherChecks = map[string]func(value any) error{
	"flags":    func(value any) error { return checkFlags(value.([]string)) },
	"env":      func(value any) error { return checkEnv(value.(map[string]string)) },
	"order":    func(value any) error { return checkOrder(value.(string)) },
	"account":  func(value any) error { return checkAccount(value.(string)) },
	"cwd":      func(value any) error { return checkPath("cwd", value.(string)) },
	"validate": func(value any) error { return checkOutputs(value.([]string)) },
}

func checkAttribute(a *facts.Attribute, value any) error {
	var err error
	switch v := value.(type) {
	case int:
		err = checkNumber(a, v)
	case string:
		err = checkAttributeText(a, v, 1)
	case []string:
		if a.Entries.Separator != "" {
			err = checkAttributeText(a, strings.Join(v, a.Entries.Separator), len(v))
		}
		if err == nil && a.List != nil {
			if wrong := a.List(a.Stored(v).([]string)); wrong != nil {
				err = problem.Invalid(a.Name, "%v", wrong)
			}
		}
	}
	if further := furtherChecks[a.Name]; err == nil && further != nil {
		err = further(value)
	}
	return err
}

func checkNumber(a *facts.Attribute, n int) error {
	if a.Least == 0 && a.Most == 0 {
		return nil
	}
	return between(a.Name, &n, a.Least, a.Most)
}

// checkAttributeText checks a text, or a list of so many entries as one.
func checkAttributeText(a *facts.Attribute, text string, entries int) error {
	var err error
	if a.Runes > 0 {
		err = checkRunes(a.Name, text, a.Runes)
	} else {
		err = CheckText(a.Name, text, a.TextLimit())
	}
	if err != nil {
		return err
	}
	if e := a.Entries; e.Separator != "" {
		n := strings.Count(text, e.Separator) + 1
		if e.Quotes != facts.NoQuotes {
			n = entries
		}
		if n > e.Most {
			return problem.Invalid(a.Name, "%d entries; at most %d: %s", n, e.Most, e.Remedy)
		}
	}
	if a.Check != nil {
		if err := a.Check(text); err != nil {
			return problem.Invalid(a.Name, "%q: %v", problem.Clip(text), err)
		}
	}
	return nil
}

// shownAttributes lists the attributes that have a member in api.Job, with the index of that member, except tags, which
// share one member.
var shownAttributes = sync.OnceValue(func() (list []shownAttribute) {
	job := reflect.VisibleFields(reflect.TypeFor[api.Job]())
	for i := range facts.Attributes {
		a := &facts.Attributes[i]
		if a.In != "" || a.Hidden {
			continue
		}
		member := slices.IndexFunc(job, func(f reflect.StructField) bool {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return name == a.Name
		})
		if member < 0 {
			panic("api.Job has no member for the attribute " + a.Name)
		}
		list = append(list, shownAttribute{a, member})
	}
	return list
})

type shownAttribute struct {
	*facts.Attribute
	member int
}

// showAttributes copies the attributes of a job to what listings show of it.
func showAttributes(to *api.Job, from *facts.JobFacts) {
	job := reflect.ValueOf(to).Elem()
	for _, a := range shownAttributes() {
		member := job.Field(a.member)
		switch v := a.Value(from).(type) {
		case *string:
			member.SetString(*v)
		case *int:
			member.SetInt(int64(*v))
		case *facts.JobID:
			member.SetInt(int64(*v))
		case *bool:
			member.SetBool(*v)
		case **int:
			*member.Addr().Interface().(**int) = clampWidth(*v)
		case *[]string:
			*member.Addr().Interface().(*[]string) = OrEmpty(*v)
		}
	}
	to.Tags = from.Tags.Map()
}
