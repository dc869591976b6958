package openjdjobs

import (
	"cmp"

	"qb/api"
	"qb/openjd"
)

// mostShown is how many tasks of a step a check shows.
const mostShown = 10

// Check is what a form shows: parameters, steps and problems.
func (j *Job) Check() api.OpenJDCheck {
	out := api.OpenJDCheck{Parameters: []api.OpenJDParameter{}, Steps: []api.OpenJDStep{},
		Problems: []api.OpenJDProblem{}, Refusals: []api.SubmissionRefusal{}, Remarks: []string{}}
	out.Problems = append(out.Problems, j.problems...)
	if j.template != nil {
		site := map[string]bool{}
		for n, e := range j.entered {
			for _, p := range e.Parameters {
				site[p.Name] = n < len(j.site.Environments)
			}
		}
		for _, p := range j.template.Parameters {
			delete(site, p.Name)
		}
		merged, _ := openjd.Parameters(j.template, j.entered) // what contradicts itself is among the problems
		for _, p := range merged {
			out.Parameters = append(out.Parameters, parameter(p, site[p.Name]))
		}
	}
	if j.job == nil {
		return out
	}
	out.Name = j.job.Name
	for _, s := range j.job.Steps {
		out.Steps = append(out.Steps, j.step(s))
	}
	return out
}

func parameter(p *openjd.Parameter, site bool) api.OpenJDParameter {
	return api.OpenJDParameter{Name: p.Name, Type: string(p.Type), Description: p.Description, Default: p.Default,
		Allowed: p.Allowed, Min: p.Min, Max: p.Max, MinLength: p.MinLength, MaxLength: p.MaxLength,
		Control: p.FormControl(), Label: cmp.Or(p.Control.Label, p.Name), Group: p.Control.GroupLabel, Site: site}
}

func (j *Job) step(s *openjd.Step) api.OpenJDStep {
	n := s.Space.Len()
	out := api.OpenJDStep{Name: s.Name, Items: n, Dependencies: s.Dependencies, First: []string{}}
	for _, e := range j.job.Environments {
		out.Environments = append(out.Environments, e.Name)
	}
	for _, e := range s.Environments {
		out.Environments = append(out.Environments, e.Name)
	}
	for i := range min(n, mostShown) {
		out.First = append(out.First, openjd.Label(s.Space.At(i)))
	}
	if n > mostShown {
		out.Last = openjd.Label(s.Space.At(n - 1))
	}
	return out
}
