package openjd

import (
	"fmt"
	"slices"
)

// Parameters are the parameters of a job: those of the environment templates in their order, then those of the job
// template. Where definitions of one name contradict each other, the first one is returned, too.
func Parameters(job *JobTemplate, environments []*EnvironmentTemplate) ([]*Parameter, error) {
	merged, problems := mergeParameters(job, environments)
	return merged, problems.err()
}

// mergeParameters are the parameters of a job: those of the environment templates in their order, then those of the
// job template, where definitions of one name narrow each other (1.2.1).
func mergeParameters(job *JobTemplate, environments []*EnvironmentTemplate) ([]*Parameter, Problems) {
	var merged []*Parameter
	var problems Problems
	at := map[string]int{}
	shared := map[string]bool{}
	add := func(parameters []*Parameter, source string) {
		for _, p := range parameters {
			i, known := at[p.Name]
			if !known {
				at[p.Name] = len(merged)
				merged = append(merged, p)
				continue
			}
			shared[p.Name] = true
			m, err := merged[i].merge(p)
			if err != nil {
				problems = append(problems, Problem{Path: p.Name, Reason: fmt.Sprintf("the definitions contradict each other, as %s has %v", source, err)})
				continue
			}
			merged[i] = m
		}
	}
	for i, e := range environments {
		add(e.Parameters, fmt.Sprintf("environment template %d", i+1))
	}
	add(job.Parameters, "the job template")
	for _, p := range merged {
		if !shared[p.Name] {
			continue
		}
		for _, reason := range p.consistent() {
			reason = "merged with the definitions of environment templates: " + reason
			problems = append(problems, Problem{Path: p.Name, Reason: reason})
		}
	}
	return merged, problems
}

// merge is a definition that satisfies this one and a later one.
func (p *Parameter) merge(later *Parameter) (*Parameter, error) {
	m := *later
	switch {
	case p.Type != later.Type:
		return nil, fmt.Errorf("the type %s, and another one has %s", later.Type, p.Type)
	case p.Type == Path && objectType(p) != objectType(later):
		return nil, fmt.Errorf("the objectType %s, and another one has %s", objectType(later), objectType(p))
	case p.Type == Path && dataFlow(p) != dataFlow(later):
		return nil, fmt.Errorf("the dataFlow %s, and another one has %s", dataFlow(later), dataFlow(p))
	}
	if m.Default == nil {
		m.Default = p.Default
	}
	m.MinLength = narrower(p.MinLength, later.MinLength, func(a, b int64) bool { return a > b })
	m.MaxLength = narrower(p.MaxLength, later.MaxLength, func(a, b int64) bool { return a < b })
	m.Min = narrower(p.Min, later.Min, func(a, b string) bool { return p.compare(a, b) > 0 })
	m.Max = narrower(p.Max, later.Max, func(a, b string) bool { return p.compare(a, b) < 0 })
	switch {
	case later.Allowed == nil:
		m.Allowed = p.Allowed
	case p.Allowed != nil:
		m.Allowed = slices.DeleteFunc(slices.Clone(later.Allowed), func(v string) bool { return !p.allows(v) })
		if len(m.Allowed) == 0 {
			return nil, fmt.Errorf("none of the allowedValues that another one has")
		}
	}
	return &m, nil
}

func narrower[T any](a, b *T, narrow func(a, b T) bool) *T {
	if b == nil || a != nil && narrow(*a, *b) {
		return a
	}
	return b
}

func objectType(p *Parameter) string {
	if p.ObjectType == "" {
		return "DIRECTORY"
	}
	return p.ObjectType
}

func dataFlow(p *Parameter) string {
	if p.DataFlow == "" {
		return "NONE"
	}
	return p.DataFlow
}
