package web

import (
	"bytes"
	"slices"

	"qb/agenda"
	"qb/api"
	"qb/supervisor/job/facts"
)

// pageEndpoint is what the page knows of an endpoint, so that it calls none that there is not.
type pageEndpoint struct {
	Method string   `json:"method"`
	Path   string   `json:"path"`
	Role   api.Role `json:"role"`
	Keyed  bool     `json:"keyed,omitempty"`
}

// endpointsOfPage returns the endpoints that the modules of the page name.
func endpointsOfPage(modules []byte) map[string]pageEndpoint {
	all := make(map[string]pageEndpoint, len(api.Endpoints))
	for _, e := range api.Endpoints {
		if e.Role != api.Worker && bytes.Contains(modules, []byte(`"`+e.ID+`"`)) {
			all[e.ID] = pageEndpoint{e.Method, e.Path, e.Role, e.Keyed()}
		}
	}
	return all
}

// formField is an attribute of a job in the form of a submission.
type formField struct {
	Name      string            `json:"name"`
	Flag      string            `json:"flag,omitempty"` // its option of qbsub
	In        string            `json:"in,omitempty"`   // the member whose entry it is
	Help      string            `json:"help"`
	Kind      string            `json:"kind"` // text, number, switch, list, map
	Default   int               `json:"default,omitempty"`
	Least     int               `json:"least,omitempty"`
	Most      int               `json:"most,omitempty"`
	Seconds   bool              `json:"seconds,omitempty"`
	Octal     bool              `json:"octal,omitempty"`
	Moment    bool              `json:"moment,omitempty"`
	Quotes    string            `json:"quotes,omitempty"` // of a list: see lists.js
	Words     map[string]string `json:"words,omitempty"`  // the options that stand for its values
	Unlimited bool              `json:"unlimited,omitempty"`
	Change    bool              `json:"change,omitempty"` // it can be changed after the submission
}

// quotesOf are the kinds of quotes in lists.
var quotesOf = map[facts.Quotes]string{facts.ShellQuotes: "shell", facts.AroundQuotes: "around"}

// attributesOfForm is the table of the attributes of a job as the form of a submission needs it.
func attributesOfForm() []formField {
	job := new(facts.JobFacts)
	fields := make([]formField, 0, len(facts.Attributes))
	for _, a := range facts.Attributes {
		f := formField{Name: a.Name, In: a.In, Help: a.Option, Default: a.Default, Least: a.Least, Most: a.Most,
			Seconds: a.Seconds, Unlimited: a.Unlimited, Change: a.Change != ""}
		if a.Option != "" {
			f.Flag = a.Flag()
		}
		f.Octal = a.Octal
		f.Moment = a.Moment
		f.Words = a.Words
		f.Quotes = quotesOf[a.Entries.Quotes]
		switch a.Value(job).(type) {
		case *string, *agenda.Order:
			f.Kind = "text"
		case *int, **int, *facts.JobID:
			f.Kind = "number"
		case *bool:
			f.Kind = "switch"
		case *[]string:
			f.Kind = "list"
		default:
			f.Kind = "map"
		}
		fields = append(fields, f)
	}
	return slices.Clip(fields)
}
