package openjd

import (
	"maps"
	"slices"
	"strings"
)

// step reads a step (3).
func (r *reader) step(v *value, path string, jobNames map[string]string) *StepTemplate {
	t := &StepTemplate{path: path}
	simple := slices.Sorted(maps.Keys(interpreters))
	names := []string{"name", "description", "dependencies", "stepEnvironments", "hostRequirements", "parameterSpace", "script"}
	for _, s := range simple {
		names = append(names, s+"@"+FeatureBundle1)
	}
	o := r.object(v, path, names...)
	if o == nil {
		return t
	}
	if name, at := o.need("name"); name != nil {
		t.Name = r.string(name, at, 1, r.limit(64, 512), noControl)
	}
	t.Description = o.description()
	t.Dependencies = r.dependencies(o)
	t.Environments = r.environments(o, "stepEnvironments", map[string]string{}, jobNames)
	if host, at := o.child("hostRequirements"); host != nil {
		t.Requirements = hostReader{r}.requirements(host, at)
	}
	tasks := map[string]bool{}
	if space, at := o.child("parameterSpace"); space != nil {
		t.Space = r.space(space, at)
		for _, p := range t.Space.parameters {
			tasks[p.name] = true
		}
	}
	r.stepScript(o, t, simple, tasks)
	return t
}

// stepScript reads the script of a step, or the simple action in its place.
func (r *reader) stepScript(o *object, t *StepTemplate, simple []string, tasks map[string]bool) {
	var given []string
	for _, name := range append([]string{"script"}, simple...) {
		v, path := o.child(name)
		if v == nil {
			continue
		}
		given = append(given, name)
		if name != "script" {
			t.Script = r.simpleAction(v, path, name, tasks)
			continue
		}
		t.Script = r.script(v, path, simple, tasks)
	}
	switch {
	case len(given) > 1:
		r.complain(o.v, o.path, "has %s; keep one of them", strings.Join(given, " and "))
	case len(given) == 0 && o.v.get("script") == nil:
		r.complain(o.v, join(o.path, "script"), "is missing")
	}
}

// script reads the script of a step (3.5). A simple action may also be given inside of it.
func (r *reader) script(v *value, path string, simple []string, tasks map[string]bool) *Script {
	names := []string{"actions", "embeddedFiles"}
	for _, s := range simple {
		names = append(names, s+"@"+FeatureBundle1)
	}
	o := r.object(v, path, names...)
	if o == nil {
		return nil
	}
	for _, name := range simple {
		if inner, at := o.child(name); inner != nil {
			if len(v.members) > 1 {
				r.complain(v, path, "has %s and other properties; keep %s alone", name, name)
			}
			return r.simpleAction(inner, at, name, tasks)
		}
	}
	s := scope{where: "the script of a step", host: true, tasks: tasks, fileName: "Task.File"}
	out := &Script{}
	out.Files, s.files = r.embeddedFiles(o, s)
	actions, at := o.need("actions")
	if actions == nil {
		return out
	}
	a := r.object(actions, at, "onRun")
	if a == nil {
		return out
	}
	if run, runPath := a.need("onRun"); run != nil {
		out.OnRun = r.action(run, runPath, s, 120)
	}
	return out
}

// dependencies reads the names of the steps that a step waits for (3.2).
func (r *reader) dependencies(o *object) []string {
	v, path := o.child("dependencies")
	if v == nil {
		return nil
	}
	var out []string
	named := map[string]bool{}
	for i, item := range r.list(v, path, 1, 0) {
		at := index(path, i)
		d := r.object(item, at, "dependsOn")
		if d == nil {
			continue
		}
		name, namePath := d.need("dependsOn")
		if name == nil {
			continue
		}
		s := r.string(name, namePath, 1, r.limit(64, 512), noControl)
		if named[s] {
			r.complain(name, namePath, "%s is named twice", quote(s))
		}
		named[s] = true
		out = append(out, s)
	}
	return out
}

// stepGraph checks that the names of steps differ, and that dependencies exist and have no cycle.
func (r *reader) stepGraph(v *value, path string, steps []*StepTemplate) {
	byName := map[string]*StepTemplate{}
	for i, s := range steps {
		if s.Name == "" {
			continue
		}
		if first := byName[s.Name]; first != nil {
			r.complain(v.items[i], join(index(path, i), "name"), "%s is also the name of %s", quote(s.Name), first.path)
			continue
		}
		byName[s.Name] = s
	}
	for i, s := range steps {
		for n, name := range s.Dependencies {
			at := index(join(index(path, i), "dependencies"), n)
			switch {
			case name == "":
			case name == s.Name:
				r.complain(v.items[i], at, "the step depends on itself")
			case byName[name] == nil:
				r.complain(v.items[i], at, "there is no step %s", quote(name))
			}
		}
	}
	if cycle := findCycle(steps, byName); cycle != nil {
		r.complain(v, path, "the dependencies form a cycle: %s", strings.Join(cycle, " needs "))
	}
}

// findCycle is a cycle of more than one step, nil if there is none. It takes away steps whose dependencies are done
// until none is left, or only steps of cycles and steps that wait for these.
func findCycle(steps []*StepTemplate, byName map[string]*StepTemplate) []string {
	waits := map[string]int{}
	waiters := map[string][]string{}
	var ready []string
	for _, s := range byName {
		for _, d := range s.Dependencies {
			if byName[d] != nil && d != s.Name {
				waits[s.Name]++
				waiters[d] = append(waiters[d], s.Name)
			}
		}
		if waits[s.Name] == 0 {
			ready = append(ready, s.Name)
		}
	}
	done := map[string]bool{}
	for len(ready) > 0 {
		name := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		done[name] = true
		for _, w := range waiters[name] {
			waits[w]--
			if waits[w] == 0 {
				ready = append(ready, w)
			}
		}
	}
	for _, s := range steps {
		if byName[s.Name] == s && !done[s.Name] {
			return walkCycle(s, byName, done)
		}
	}
	return nil
}

// walkCycle follows steps that are not done until one comes again.
func walkCycle(s *StepTemplate, byName map[string]*StepTemplate, done map[string]bool) []string {
	var walked []string
	for !slices.Contains(walked, s.Name) {
		walked = append(walked, s.Name)
		next := slices.IndexFunc(s.Dependencies, func(d string) bool { return byName[d] != nil && d != s.Name && !done[d] })
		if next < 0 {
			return walked
		}
		s = byName[s.Dependencies[next]]
	}
	return append(walked[slices.Index(walked, s.Name):], s.Name)
}
