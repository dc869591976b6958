package serve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-chi/chi/v5"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/job/facts"
	"qb/supervisor/store"
	"qb/supervisor/wire/settings"
)

// attributeSamples are two values, as requests have them, of each attribute that takes not just any value of its type.
var attributeSamples = map[string][2]any{
	"command":      {[]string{"echo first"}, nil}, // a line, for shell
	"cluster":      {"/first", "/second"},
	"range":        {"1-10", nil},
	"order":        {"reverse", nil},
	"dependency":   {"link-complete-job-1", nil},
	"requirements": {"host.memory > 3GB", "host.memory > 5GB"},
	"reservations": {"host.processors=2", "host.processors=3"},
	"restrictions": {"/first", "/second/*"},
	"security":     {"group=v", "others=k"},
	"hostorder":    {"+host.memory", "-host.memory"},
	"flags":        {[]string{"elite", "uninterruptible"}, nil},
	"cwd":          {"/first", nil},
	"pgrp":         {1, 2}, // jobs that lead groups
	"pid":          {1, nil},
	"system":       {"linux", "windows"},
	"type":         {"loadonce", "loadonce"},
	"mailaddress":  {[]string{"ada@studio.example", "b@c"}, []string{"d@e"}},
	"pathmap":      {[]string{"/a=/b", "P:=/c"}, []string{"/d=/e"}},
	"p_agenda":     {"2", nil},
	"start":        {"2031-02-03T04:05:06Z", "2032-02-03T04:05:06Z"},
}

// submittedAlone are attributes that cannot be given beside others.
var submittedAlone = []string{"partitions"}

// sample is the first (0) or second (1) value of an attribute.
func sample(t *testing.T, a *facts.Attribute, n int) any {
	t.Helper()
	if own, ok := attributeSamples[a.Name]; ok {
		return own[n]
	}
	switch a.Value(new(facts.JobFacts)).(type) {
	case *string:
		return []string{"first", "second"}[n]
	case *int, **int, *facts.JobID:
		return []int{3, 5}[n]
	case *bool:
		return n == 0
	case *[]string:
		return [][]string{{" a", "b"}, {"c"}}[n]
	case *map[string]string:
		return map[string]string{"A": []string{"first", "second"}[n]}
	}
	t.Fatalf("%s is of a type that this test does not know; add it to sample, or values to attributeSamples", a.Name)
	return nil
}

// requestOf is the body that gives these attributes their samples.
func requestOf(t *testing.T, n int, attributes []*facts.Attribute) map[string]any {
	body := map[string]any{}
	for _, a := range attributes {
		if a.In == "" {
			body[a.Name] = sample(t, a, n)
			continue
		}
		if body[a.In] == nil {
			body[a.In] = map[string]any{}
		}
		body[a.In].(map[string]any)[a.Name] = sample(t, a, n)
	}
	return body
}

// attributes are the attributes of the table that f chooses.
func attributes(f func(a *facts.Attribute) bool) (list []*facts.Attribute) {
	for i := range facts.Attributes {
		if a := &facts.Attributes[i]; f(a) {
			list = append(list, a)
		}
	}
	return list
}

// anyAccount lets jobs name accounts that were not created.
func anyAccount(c *settings.Config, _ *Options) { c.Accounts = "open" }

// TestAttributesSurvive: each attribute is stored and shown as submitted, and so is a change of it, which the job's
// history records, on both stores. Changes of read-only attributes are refused.
func TestAttributesSurvive(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func() *rig{
		"memory":   func() *rig { return startRig(t, anyAccount) },
		"postgres": func() *rig { return startOn(t, startCluster(t).URL(), anyAccount) },
	} {
		t.Run(name, func(t *testing.T) {
			r := start()
			w := attributeWalk{t, r.client("u1", api.Admin), r.store}
			// a job with a range has none
			rangeless := func(a *facts.Attribute) bool { return a.Name == "postflights" }
			// the job's range is what they leave
			preview := func(a *facts.Attribute) bool { return strings.HasPrefix(a.Name, "p_agenda") }
			alone := func(a *facts.Attribute) bool {
				return slices.Contains(submittedAlone, a.Name) || rangeless(a) || preview(a)
			}
			w.submit(attributes(func(a *facts.Attribute) bool { return a.Name == "command" })) // job 1, for others to depend on
			one := attributes(rangeless)
			w.change(w.submit(append(attributes(func(a *facts.Attribute) bool { return a.Name == "command" }), one...)), one)
			previews := attributes(preview)
			body := requestOf(t, 0, append(attributes(func(a *facts.Attribute) bool {
				return a.Name == "command" || a.Name == "range"
			}), previews...))
			w.compare(must[api.SubmitReply](t, w.client, api.Submit, nil, body).Job, 0, previews)
			for _, a := range attributes(func(a *facts.Attribute) bool { return slices.Contains(submittedAlone, a.Name) }) {
				w.submit([]*facts.Attribute{facts.AttributeNamed("command"), facts.AttributeNamed("range"), a})
			}
			together := attributes(func(a *facts.Attribute) bool { return !alone(a) })
			id := w.submit(together)
			w.change(id, attributes(func(a *facts.Attribute) bool { return a.Change != "" && !rangeless(a) }))
			for _, a := range attributes(func(a *facts.Attribute) bool { return a.Change == "" }) {
				refused(t, api.KindInvalid, w.client, api.Modify, params("job", id), map[string]any{a.Name: sample(t, a, 0)})
			}
		})
	}
}

type attributeWalk struct {
	t      *testing.T
	client *api.Client
	rows   Backing
}

func (w attributeWalk) submit(given []*facts.Attribute) int64 {
	w.t.Helper()
	id := must[api.SubmitReply](w.t, w.client, api.Submit, nil, requestOf(w.t, 0, given)).Job
	w.compare(id, 0, given)
	return id
}

func (w attributeWalk) change(id int64, given []*facts.Attribute) {
	w.t.Helper()
	must[api.SubmitReply](w.t, w.client, api.Modify, params("job", id), requestOf(w.t, 1, given))
	w.compare(id, 1, given)
	history := must[[]api.Event](w.t, w.client, api.History, params("job", id), nil)
	at := slices.IndexFunc(history, func(e api.Event) bool { return e.Type == "modified" })
	if at < 0 {
		w.t.Fatalf("the history has no modification: %+v", history)
	}
	for _, a := range given {
		line := fmt.Sprintf("%s = %v", a.Name, a.Stored(sample(w.t, a, 1)))
		if a.Private {
			line = a.Name + " changed"
		}
		if !strings.Contains(history[at].Cause, line) {
			w.t.Errorf("the history lacks %q: %s", line, history[at].Cause)
		}
	}
}

// compare wants the samples in the job's row, as one read alone and as one of a list, and in what is shown of the job.
func (w attributeWalk) compare(id int64, n int, given []*facts.Attribute) {
	w.t.Helper()
	row, err := w.rows.Facts(w.t.Context(), facts.JobID(id))
	if err != nil || row == nil {
		w.t.Fatalf("job %d: %v", id, err)
	}
	list, err := w.rows.Jobs(w.t.Context(), store.JobQuery{IDs: []facts.JobID{facts.JobID(id)}})
	if err != nil || len(list) != 1 {
		w.t.Fatalf("job %d: %v, %v", id, list, err)
	}
	job := must[map[string]any](w.t, w.client, api.GetJob, params("job", id), nil)
	for _, a := range given {
		var wanted facts.JobFacts
		a.Set(&wanted, a.Stored(sample(w.t, a, n)))
		want := a.Get(&wanted)
		for what, got := range map[string]any{"row": a.Get(row), "row in a list": a.Get(&list[0].JobFacts)} {
			if !reflect.DeepEqual(got, want) {
				w.t.Errorf("%s in the %s is %#v, want %#v", a.Name, what, got, want)
			}
		}
		if a.Hidden {
			continue
		}
		got := job[a.Name]
		if a.In != "" {
			got = job[a.In].(map[string]any)[a.Name]
		}
		if want := asJSON(w.t, want); !reflect.DeepEqual(got, want) {
			w.t.Errorf("%s is shown as %#v, want %#v", a.Name, got, want)
		}
	}
}

// asJSON is a value after its way through JSON.
func asJSON(t *testing.T, v any) (out any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The OpenAPI document, which is made from the types of package api, has each attribute where the table says, and
// requests have nothing else but what is listed here.
func TestAttributesInDocument(t *testing.T) {
	rt, err := mountAll(newTestServer(t), chi.NewRouter())
	if err != nil {
		t.Fatal(err)
	}
	schemas := rt.api.OpenAPI().Components.Schemas.Map()
	has := func(schema string, a *facts.Attribute) bool {
		return schemas[schema].Properties[cmp.Or(a.In, a.Name)] != nil
	}
	known := map[string]bool{"user": true, "status": true, "$schema": true}
	for _, a := range attributes(func(*facts.Attribute) bool { return true }) {
		known[cmp.Or(a.In, a.Name)] = true
		if !has("SubmitRequest", a) {
			t.Errorf("api.SubmitRequest lacks %s", a.Name)
		}
		if has("ModifyRequest", a) != (a.Change != "") {
			t.Errorf("%s in api.ModifyRequest: %v; its help for qbmodify is %q", a.Name, a.Change == "", a.Change)
		}
		if has("Job", a) == a.Hidden {
			t.Errorf("%s in api.Job: %v; the table says hidden: %v", a.Name, !a.Hidden, a.Hidden)
		}
	}
	for _, schema := range []*huma.Schema{schemas["SubmitRequest"], schemas["ModifyRequest"]} {
		for name := range schema.Properties {
			if !known[name] {
				t.Errorf("a request has the member %s, which is not in facts.Attributes", name)
			}
		}
	}
}

// Each attribute is in its row: a field that is neither an attribute nor listed here was forgotten in facts.Attributes.
func TestFieldsAreAttributes(t *testing.T) {
	full := facts.JobFacts{}
	for _, a := range attributes(func(*facts.Attribute) bool { return true }) {
		a.Set(&full, a.Stored(sample(t, a, 0)))
	}
	own := []string{"ID", "Submission", "Version", "User", "WaitFor", "State", "BlockedBy", "UID", "SubmittedAt",
		"FinishedAt", "GlobalOrder", "LocalOrder", "Named", "OperatorPriority", "Division"}
	full.Agenda.Runs = 1
	for _, v := range []reflect.Value{reflect.ValueOf(full), reflect.ValueOf(full.Agenda)} {
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() == !slices.Contains(own, name) {
				t.Errorf("%s.%s is an attribute: %v", v.Type(), name, !v.Field(i).IsZero())
			}
		}
	}
	if full.Agenda.Order != agenda.Reverse {
		t.Errorf("order %q", full.Agenda.Order)
	}
}
