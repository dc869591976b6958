package openjd

// exitLimit is the time limit of onExit if the template gives none, in seconds (5).
const exitLimit = 300

const (
	maxSeconds = 1 << 31 // of a time limit
	maxNotify  = 600     // seconds (5.3.2)
)

// Seconds is the time limit of an action, 0 for none.
func (a *Action) Seconds(onExit bool) int64 {
	switch {
	case a.Timeout.Set:
		return a.Timeout.N
	case onExit:
		return exitLimit
	}
	return 0
}

// Notify is how long a program has between the notification and its end, 0 if it is not notified.
func (a *Action) Notify() int64 {
	switch {
	case a.Mode.Text != NotifyThenTerminate:
		return 0
	case a.NotifyPeriod.Set:
		return a.NotifyPeriod.N
	}
	return a.defaultNotify
}

// action reads an action (5).
func (r *reader) action(v *value, path string, s scope, notify int64) *Action {
	o := r.object(v, path, "command", "args", "timeout", "cancelation")
	if o == nil {
		return nil
	}
	a := &Action{}
	if command, at := o.need("command"); command != nil {
		a.Command = r.format(command, at, formatRule{least: 1, control: noControl}, s)
	}
	r.actionRest(o, a, s, notify)
	return a
}

// actionRest reads what an action and a simple action have in common.
func (r *reader) actionRest(o *object, a *Action, s scope, notify int64) {
	a.defaultNotify = notify
	if args, at := o.child("args"); args != nil {
		a.Args = r.formats(args, at, 0, formatRule{control: lineControl}, s)
	}
	creation := scope{where: "a limit in seconds"}
	if timeout, at := o.child("timeout"); timeout != nil {
		a.Timeout = r.count(timeout, at, 1, maxSeconds, FeatureBundle1, creation)
	}
	cancelation, at := o.child("cancelation")
	if cancelation == nil {
		return
	}
	c := r.object(cancelation, at, "mode", "notifyPeriodInSeconds")
	if c == nil {
		return
	}
	if mode, modePath := c.need("mode"); mode != nil {
		a.Mode = r.mode(mode, modePath)
	}
	period, periodPath := c.child("notifyPeriodInSeconds")
	switch {
	case period == nil:
	case a.Mode.Text == Terminate:
		r.complain(period, periodPath, "belongs to the mode %s, and the mode is %s", NotifyThenTerminate, Terminate)
	default:
		a.NotifyPeriod = r.count(period, periodPath, 1, maxNotify, FeatureBundle1, creation)
	}
}

// mode reads how an action is canceled; with FEATURE_BUNDLE_1 it may be a format string.
func (r *reader) mode(v *value, path string) Format {
	if r.has(FeatureBundle1) && v.kind == text {
		f := r.format(v, path, formatRule{least: 1}, scope{where: "the mode of a cancelation"})
		if !f.Literal() {
			return f
		}
	}
	mode := r.choice(v, path, Terminate, NotifyThenTerminate)
	return Format{Text: mode, parts: []part{{literal: mode}}, path: path, line: v.line, column: v.column}
}

// interpreters are the simple actions of FEATURE_BUNDLE_1 (8): the arguments before the file, and its extension.
var interpreters = map[string]struct {
	before    []string
	extension string
}{
	"bash": {nil, ".sh"}, "python": {nil, ".py"}, "node": {nil, ".js"},
	"cmd": {[]string{"/C"}, ".bat"}, "powershell": {[]string{"-File"}, ".ps1"},
}

// simpleName is the name of the file that a simple action makes.
const simpleName = "Script"

// simpleAction reads a script for an interpreter, as an embedded file and an action.
func (r *reader) simpleAction(v *value, path, interpreter string, tasks map[string]bool) *Script {
	o := r.object(v, path, "script", "args", "timeout", "cancelation")
	if o == nil {
		return nil
	}
	s := scope{where: "a script", host: true, tasks: tasks}
	how := interpreters[interpreter]
	a := &Action{}
	r.actionRest(o, a, s, 120)
	a.Command = literal(interpreter)
	var before []Format
	for _, word := range how.before {
		before = append(before, literal(word))
	}
	file := "Task.File." + simpleName
	before = append(before, Format{Text: "{{" + file + "}}", parts: []part{{name: file}}})
	a.Args = append(before, a.Args...)
	f := EmbeddedFile{Name: simpleName, Filename: simpleName + how.extension, EndOfLine: EndAuto}
	if script, at := o.need("script"); script != nil {
		f.Data = r.format(script, at, formatRule{least: 1}, s)
	}
	return &Script{OnRun: a, Files: []EmbeddedFile{f}}
}

func literal(s string) Format { return Format{Text: s, parts: []part{{literal: s}}} }
