package openjd

import (
	"fmt"
	"strings"
)

// A scope says which values a format string may refer to (7.3.1).
type scope struct {
	where    string          // for messages
	host     bool            // it is resolved on the host, in a session
	tasks    map[string]bool // parameters of the step's tasks; nil outside of a step's script
	files    map[string]bool // embedded files of the script
	fileName string          // Task.File or Env.File; "" outside of scripts
}

// sessionValues are known in each session.
var sessionValues = map[string]bool{
	"Session.WorkingDirectory": true, "Session.HasPathMappingRules": true, "Session.PathMappingRulesFile": true,
}

// checkReferences complains of each reference to a value that the scope does not have.
func (r *reader) checkReferences(f Format, s scope) {
	for _, name := range f.References() {
		if reason := r.missing(name, s); reason != "" {
			r.problems = append(r.problems, f.problem("{{%s}} %s", name, reason))
		}
	}
}

// missing is why a scope does not have a value, "" if it does.
func (r *reader) missing(name string, s scope) string {
	words := strings.Split(name, ".")
	last := words[len(words)-1]
	switch group := strings.Join(words[:len(words)-1], "."); group {
	case "Param", "RawParam":
		p := r.parameters[last]
		if p == nil {
			return "is not defined; parameterDefinitions has no " + last
		}
		if group == "Param" && p.Type == Path && !s.host {
			return fmt.Sprintf("is a PATH, whose value is known on the host only; write {{RawParam.%s}} in %s", last, s.where)
		}
		return ""
	case "Session":
		switch {
		case !sessionValues[name]:
			return "is not defined; there are Session.WorkingDirectory, Session.HasPathMappingRules and Session.PathMappingRulesFile"
		case !s.host:
			return "is known in a session only, not in " + s.where
		}
		return ""
	case "Task.Param", "Task.RawParam":
		switch {
		case s.tasks == nil:
			return "is known in the script of a step only, not in " + s.where
		case !s.tasks[last]:
			return "is not defined; taskParameterDefinitions has no " + last
		}
		return ""
	case "Task.File", "Env.File":
		switch {
		case group != s.fileName:
			return "is not known in " + s.where
		case !s.files[last]:
			return "is not defined; embeddedFiles has no " + last
		}
		return ""
	}
	if name == "Job.Name" || name == "Step.Name" {
		return "needs the extension EXPR, which is not supported"
	}
	return "is not defined; there are Param, RawParam, Session, and in scripts Task.Param, Task.RawParam, Task.File and Env.File"
}
