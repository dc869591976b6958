package openjd

import "strings"

// maxVariableText is the longest value of an environment variable, in characters (4.4.2).
const maxVariableText = 2048

// environments reads a list of environments, whose names differ from one another and from others.
func (r *reader) environments(o *object, name string, own, others map[string]string) []*Environment {
	v, path := o.child(name)
	if v == nil {
		return nil
	}
	var out []*Environment
	for i, item := range r.list(v, path, 1, 0) {
		at := index(path, i)
		e := r.environment(item, at)
		if e == nil {
			continue
		}
		first := own[e.Name]
		if first == "" {
			first = others[e.Name]
		}
		if first != "" && e.Name != "" {
			r.complain(item, join(at, "name"), "%s is also the name of %s", quote(e.Name), first)
		}
		own[e.Name] = at
		out = append(out, e)
	}
	return out
}

// environment reads an environment (4).
func (r *reader) environment(v *value, path string) *Environment {
	o := r.object(v, path, "name", "description", "script", "variables")
	if o == nil {
		return nil
	}
	e := &Environment{}
	if name, at := o.need("name"); name != nil {
		e.Name = r.string(name, at, 1, r.limit(64, 512), noControl)
	}
	e.Description = o.description()
	variables, at := o.child("variables")
	script, scriptPath := o.child("script")
	if variables == nil && script == nil {
		r.complain(v, path, "has neither script nor variables; give it one of them")
	}
	if variables != nil {
		e.Variables = r.variables(variables, at)
	}
	if script != nil {
		r.environmentScript(script, scriptPath, e)
	}
	return e
}

func (r *reader) variables(v *value, path string) []Variable {
	if v.kind != mapping {
		r.complain(v, path, "is %s; write a mapping of names to values", v.kind)
		return nil
	}
	if len(v.members) == 0 {
		r.complain(v, path, "is empty; give it a variable, or leave it out")
	}
	var out []Variable
	s := scope{where: "a variable", host: true}
	for _, m := range v.members {
		at := join(path, m.key)
		key := &value{line: m.line, column: m.col}
		switch {
		case !isIdentifier(m.key):
			r.complain(key, path, "%s is not the name of a variable: letters of ASCII, digits and _, not a digit first",
				quote(m.key))
		case len(m.key) > 256:
			r.complain(key, path, "the name %s has %d characters, and at most 256 are allowed", quote(m.key), len(m.key))
		}
		f := r.format(m.value, at, formatRule{most: maxVariableText}, s)
		if strings.Contains(f.Text, "\x00") {
			r.complain(m.value, at, "has a NUL character, which no variable can have")
		}
		out = append(out, Variable{m.key, f})
	}
	return out
}

func (r *reader) environmentScript(v *value, path string, e *Environment) {
	o := r.object(v, path, "actions", "embeddedFiles")
	if o == nil {
		return
	}
	s := scope{where: "the script of an environment", host: true, fileName: "Env.File"}
	e.Files, s.files = r.embeddedFiles(o, s)
	actions, at := o.need("actions")
	if actions == nil {
		return
	}
	a := r.object(actions, at, "onEnter", "onExit")
	if a == nil {
		return
	}
	if enter, enterPath := a.child("onEnter"); enter != nil {
		e.OnEnter = r.action(enter, enterPath, s, 30)
	}
	if exit, exitPath := a.child("onExit"); exit != nil {
		e.OnExit = r.action(exit, exitPath, s, 30)
	}
	if a.v.get("onEnter") == nil && a.v.get("onExit") == nil {
		r.complain(actions, at, "has neither onEnter nor onExit; give it one of them")
	}
}

// embeddedFiles reads the files of a script, first their names, as each may refer to the others.
func (r *reader) embeddedFiles(o *object, s scope) ([]EmbeddedFile, map[string]bool) {
	s.files = map[string]bool{}
	v, path := o.child("embeddedFiles")
	if v == nil {
		return nil, s.files
	}
	items := r.list(v, path, 1, 0)
	for _, item := range items {
		if name := item.get("name"); name != nil {
			s.files[name.text] = true
		}
	}
	var out []EmbeddedFile
	read := map[string]bool{}
	for i, item := range items {
		f, ok := r.embeddedFile(item, index(path, i), s)
		if !ok {
			continue
		}
		if read[f.Name] && f.Name != "" {
			r.complain(item, join(index(path, i), "name"), "%s is the name of two files", quote(f.Name))
		}
		read[f.Name] = true
		out = append(out, f)
	}
	return out, s.files
}

// embeddedFile reads a file (6.1).
func (r *reader) embeddedFile(v *value, path string, s scope) (f EmbeddedFile, ok bool) {
	o := r.object(v, path, "name", "type", "filename", "runnable", "data", "endOfLine@"+FeatureBundle1)
	if o == nil {
		return f, false
	}
	if name, at := o.need("name"); name != nil {
		f.Name = r.identifier(name, at)
	}
	if kindOf, at := o.need("type"); kindOf != nil {
		r.choice(kindOf, at, "TEXT")
	}
	if name, at := o.child("filename"); name != nil {
		f.Filename = r.string(name, at, 1, r.limit(64, 256), anyControl)
		if strings.ContainsAny(f.Filename, "/\\\x00") || f.Filename == "." || f.Filename == ".." {
			r.complain(name, at, "%s is not the name of a file alone, without folders", quote(f.Filename))
		}
	}
	if runnable, at := o.child("runnable"); runnable != nil {
		f.Runnable = r.boolean(runnable, at)
	}
	if data, at := o.need("data"); data != nil {
		f.Data = r.format(data, at, formatRule{least: 1}, s)
	}
	f.EndOfLine = EndAuto
	if end, at := o.child("endOfLine"); end != nil {
		f.EndOfLine = EndOfLine(r.choice(end, at, string(EndAuto), string(EndLF), string(EndCRLF)))
	}
	return f, true
}
