package openjd

import (
	"fmt"
	"slices"
	"strings"
)

// The extensions that this package knows.
const (
	TaskChunking    = "TASK_CHUNKING"
	RedactedEnvVars = "REDACTED_ENV_VARS"
	FeatureBundle1  = "FEATURE_BUNDLE_1"
)

// Extensions are the names of the extensions that this package knows.
func Extensions() []string { return []string{TaskChunking, RedactedEnvVars, FeatureBundle1} }

const exprRefusal = "expressions need the extension EXPR, which is not supported"

// The versions of the two kinds of templates.
const (
	jobVersion         = "jobtemplate-2023-09"
	environmentVersion = "environment-2023-09"
)

// A Document is a template of either kind.
type Document struct {
	Job         *JobTemplate
	Environment *EnvironmentTemplate
}

// Read reads a template and reports all that is wrong with it. A template may name the given extensions alone, or,
// if these are nil, all known ones.
func Read(document []byte, syntax Syntax, extensions []string) (Document, error) {
	root, err := readDocument(document, syntax)
	if err != nil {
		return Document{}, err
	}
	if extensions == nil {
		extensions = Extensions()
	}
	r := &reader{offered: extensions}
	d := r.document(root)
	if err := r.problems.err(); err != nil {
		return Document{}, err
	}
	return d, nil
}

// ReadJob reads a job template.
func ReadJob(document []byte, syntax Syntax) (*JobTemplate, error) {
	d, err := Read(document, syntax, nil)
	if err == nil && d.Job == nil {
		err = Problems{{Path: "specificationVersion", Reason: "the template is one of an environment, and a job template is needed"}}
	}
	return d.Job, err
}

// ReadEnvironment reads an environment template.
func ReadEnvironment(document []byte, syntax Syntax) (*EnvironmentTemplate, error) {
	d, err := Read(document, syntax, nil)
	if err == nil && d.Environment == nil {
		err = Problems{{Path: "specificationVersion", Reason: "the template is one of a job, and an environment template is needed"}}
	}
	return d.Environment, err
}

// A reader makes a template of a document. It goes on after a problem, so that all are reported at once.
type reader struct {
	problems   Problems
	offered    []string // extensions that may be named
	extensions []string // named by the template
	parameters map[string]*Parameter
}

func (r *reader) has(extension string) bool { return slices.Contains(r.extensions, extension) }

// limit is one of two limits: of the base language, or with FEATURE_BUNDLE_1.
func (r *reader) limit(base, bundle int) int {
	if r.has(FeatureBundle1) {
		return bundle
	}
	return base
}

func (r *reader) complain(v *value, path, format string, args ...any) {
	r.problems = append(r.problems, Problem{path, v.line, v.column, fmt.Sprintf(format, args...)})
}

func (r *reader) document(root *value) (d Document) {
	if root.kind != mapping {
		r.complain(root, "", "the document is %s; a template is a mapping with specificationVersion and other properties",
			root.kind)
		return d
	}
	version := root.get("specificationVersion")
	switch {
	case version == nil:
		r.complain(root, "specificationVersion", "is missing; write %s or %s", jobVersion, environmentVersion)
	case version.kind == text && version.text == jobVersion:
		d.Job = r.jobTemplate(root)
	case version.kind == text && version.text == environmentVersion:
		d.Environment = r.environmentTemplate(root)
	default:
		r.complain(version, "specificationVersion", "%s is not known; write %s or %s",
			quote(version.text), jobVersion, environmentVersion)
	}
	return d
}

func (r *reader) jobTemplate(root *value) *JobTemplate {
	t := &JobTemplate{}
	if !r.readExtensions(root) {
		return t
	}
	t.Extensions = r.extensions
	o := r.object(root, "", "specificationVersion", "$schema", "extensions", "name", "description", "parameterDefinitions", "jobEnvironments", "steps")
	if o == nil {
		return t
	}
	if v, path := o.child("$schema"); v != nil && v.kind != text {
		r.complain(v, path, "is %s; write a string", v.kind)
	}
	t.Parameters = r.parameterDefinitions(o, r.limit(50, 200))
	if v, path := o.need("name"); v != nil {
		t.Name = r.format(v, path, formatRule{least: 1, most: r.limit(128, 512), control: noControl}, scope{where: "the name of a job"})
	}
	t.Description = o.description()
	jobNames := map[string]string{}
	t.Environments = r.environments(o, "jobEnvironments", jobNames, nil)
	if v, path := o.need("steps"); v != nil {
		for i, item := range r.list(v, path, 1, 0) {
			t.Steps = append(t.Steps, r.step(item, index(path, i), jobNames))
		}
		r.stepGraph(v, path, t.Steps)
	}
	return t
}

func (r *reader) environmentTemplate(root *value) *EnvironmentTemplate {
	t := &EnvironmentTemplate{}
	if !r.readExtensions(root) {
		return t
	}
	t.Extensions = r.extensions
	o := r.object(root, "", "specificationVersion", "$schema", "extensions", "parameterDefinitions", "environment")
	if o == nil {
		return t
	}
	t.Parameters = r.parameterDefinitions(o, 50)
	if v, path := o.need("environment"); v != nil {
		t.Environment = r.environment(v, path)
	}
	return t
}

// readExtensions says whether the template can be read: with an unknown extension, properties that are reported as
// problems may be right.
func (r *reader) readExtensions(root *value) (ok bool) {
	r.extensions = []string{}
	v := root.get("extensions")
	if v == nil {
		return true
	}
	before := len(r.problems)
	for i, item := range r.list(v, "extensions", 1, 0) {
		at := index("extensions", i)
		name := item.text
		switch {
		case item.kind != text:
			r.complain(item, at, "is %s; write the name of an extension", item.kind)
		case len(name) < 3 || len(name) > 128 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") != "":
			r.complain(item, at, "%s is not the name of an extension: 3 to 128 capitals, digits and _", quote(name))
		case slices.Contains(r.extensions, name):
			r.complain(item, at, "%s is named twice", name)
		case !slices.Contains(r.offered, name):
			r.complain(item, at, "the extension %s is not supported; supported are %s", name, orNone(r.offered))
		default:
			r.extensions = append(r.extensions, name)
		}
	}
	return len(r.problems) == before
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
