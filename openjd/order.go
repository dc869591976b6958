package openjd

import "slices"

// Ordered are the steps of a job, each after the steps that it depends on, else in the order of the template.
func (j *Job) Ordered() []*Step { return j.after(j.Steps) }

// Needed are a step and, before it, the steps that it depends on, directly or not.
func (j *Job) Needed(s *Step) []*Step { return j.after([]*Step{s}) }

// after puts the dependencies of steps before them. The template has no cycle. Steps are visited with a stack of their
// own, as a chain of dependencies may be long.
func (j *Job) after(steps []*Step) []*Step {
	byName := map[string]*Step{}
	for _, s := range j.Steps {
		byName[s.Name] = s
	}
	var out []*Step
	begun := map[string]bool{}
	done := map[string]bool{}
	stack := slices.Clone(steps)
	slices.Reverse(stack)
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		if begun[s.Name] {
			stack = stack[:len(stack)-1]
			if !done[s.Name] {
				done[s.Name] = true
				out = append(out, s)
			}
			continue
		}
		begun[s.Name] = true
		for _, name := range slices.Backward(s.Dependencies) {
			if !begun[name] {
				stack = append(stack, byName[name])
			}
		}
	}
	return out
}
