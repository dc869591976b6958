package translate

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"qb/api"
	"qb/supervisor/job/facts"
)

// Request is the submission that makes a job like this one: Submission read backwards, through the table of attributes.
func Request(f facts.JobFacts) api.SubmitRequest {
	r := api.SubmitRequest{User: f.User}
	for i := range facts.Attributes {
		a := &facts.Attributes[i]
		value := reflect.ValueOf(a.Get(&f))
		if !value.IsValid() || value.IsZero() && a.Name != "max_cpus" && a.Name != "umask" {
			continue
		}
		member := api.Member(&r, cmp.Or(a.In, a.Name))
		switch {
		case a.In != "":
			if r.Tags == nil {
				r.Tags = map[string]string{}
			}
			r.Tags[a.Name] = value.String()
		case member.Kind() == reflect.Pointer:
			member.Set(reflect.New(member.Type().Elem()))
			member.Elem().Set(value.Convert(member.Type().Elem()))
		case value.Kind() == reflect.Slice || value.Kind() == reflect.Map: // not shared with the farm
			if value.Len() > 0 {
				member.Set(copied(value))
			}
		default:
			member.Set(value.Convert(member.Type()))
		}
	}
	if f.PGrp == f.ID { // a group of its own
		r.PGrp = 0
	}
	if f.State == facts.Blocked && f.BlockedBy != "" || f.State == facts.Suspended { // held, not waiting
		r.Status = "blocked"
	}
	return r
}

func copied(v reflect.Value) reflect.Value {
	switch from := v.Interface().(type) {
	case []string:
		return reflect.ValueOf(slices.Clone(from))
	case map[string]string:
		return reflect.ValueOf(maps.Clone(from))
	}
	return v
}
