package openjd

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Submission is what a job is made of besides its template.
type Submission struct {
	Values       map[string]string // of parameters
	Environments []*EnvironmentTemplate
	// TemplateDir is the folder of the template: relative defaults of PATH parameters are joined with it, and must
	// stay in it. "" leaves defaults as they are, for values that a client has joined already.
	TemplateDir string
	// WorkingDir is the folder of the user: relative values of PATH parameters are joined with it. "" leaves them.
	WorkingDir string
	// ChunkSizes are by step the most values of a chunk, where chunks should take a time (targetRuntimeSeconds).
	ChunkSizes map[string]int64
	// MaxTasks bounds the tasks of all steps together; 0 bounds them by the integers alone.
	MaxTasks int64
}

// A Job is a template with values: all that can be known before a host runs it.
type Job struct {
	Name         string
	Description  string
	Extensions   []string // of all documents
	Values       []Value
	Environments []*Environment // entered in this order; those of environment templates first
	Steps        []*Step
}

// A Value is the value of a job parameter. A PATH is as it was submitted: path mapping is of the host.
type Value struct {
	Name  string
	Type  Type
	Value string
}

// A Step of a job.
type Step struct {
	Name         string
	Description  string
	Dependencies []string
	Environments []*Environment
	Amounts      []Amount
	Attributes   []Attribute
	Space        *Space
	Script       *Script
}

// An Amount is what a session reserves; Min or Max is nil if it is not given.
type Amount struct {
	Name string // in lower case
	Min  *float64
	Max  *float64
}

// An Attribute is what a host must have.
type Attribute struct {
	Name  string // in lower case
	AnyOf []string
	AllOf []string
}

// CreateJob makes a job, or reports all that is wrong with the submission.
func CreateJob(t *JobTemplate, s Submission) (*Job, error) {
	merged, problems := mergeParameters(t, s.Environments)
	if err := problems.err(); err != nil {
		return nil, err
	}
	c := &creator{values: map[string]string{}, sizes: s.ChunkSizes}
	j := &Job{Description: t.Description, Extensions: slices.Clone(t.Extensions)}
	j.Values = c.parameters(merged, s)
	if err := c.problems.err(); err != nil {
		return nil, err
	}
	j.Name = c.name(t)
	for _, e := range s.Environments {
		j.Extensions = append(j.Extensions, e.Extensions...)
		j.Environments = append(j.Environments, c.environment(e.Environment))
	}
	slices.Sort(j.Extensions)
	j.Extensions = slices.Compact(j.Extensions)
	j.Environments = append(j.Environments, c.environments(t.Environments)...)
	for _, step := range t.Steps {
		j.Steps = append(j.Steps, c.step(step))
	}
	if len(c.problems) == 0 {
		c.countTasks(j, s.MaxTasks)
	}
	if err := c.problems.err(); err != nil {
		return nil, err
	}
	return j, nil
}

// A creator resolves what is resolved when a job is made.
type creator struct {
	problems Problems
	values   map[string]string // by reference
	sizes    map[string]int64  // Submission.ChunkSizes
}

func (c *creator) complain(p Problem) { c.problems = append(c.problems, p) }

// parameters are the values of all parameters, checked.
func (c *creator) parameters(merged []*Parameter, s Submission) []Value {
	known := map[string]bool{}
	var out []Value
	for _, p := range merged {
		known[p.Name] = true
		v, err := p.value(s)
		if err != nil {
			c.complain(Problem{Path: p.Name, Reason: err.Error()})
			continue
		}
		if p.Type != Path {
			c.values["Param."+p.Name] = v
		}
		c.values["RawParam."+p.Name] = v
		out = append(out, Value{p.Name, p.Type, v})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Values)) {
		if !known[name] {
			c.complain(Problem{Path: shorten(name), Reason: "there is a value, and no template defines such a parameter"})
		}
	}
	return out
}

// value is the value of a parameter in a submission.
func (p *Parameter) value(s Submission) (string, error) {
	given, ok := s.Values[p.Name]
	if !ok {
		if p.Default == nil {
			return "", fmt.Errorf("has no value, and no default in the template; give it one")
		}
		if p.Type != Path || *p.Default == "" || s.TemplateDir == "" {
			return *p.Default, nil
		}
		v, err := joinDefault(s.TemplateDir, *p.Default)
		if err != nil {
			return "", err
		}
		return v, p.check(v, true)
	}
	v, err := p.normal(given)
	if err != nil {
		return "", err
	}
	if p.Type == Path && v != "" && s.WorkingDir != "" && !absolute(v) {
		v = joinPath(s.WorkingDir, v)
	}
	return v, p.check(v, true)
}

// Joined are the values of a submission for a machine that does not have the folders of this one. PATH parameters are
// joined with the folders of the submission, also by their relative defaults. What is wrong with other values is found
// when the job is made.
func Joined(t *JobTemplate, s Submission) (map[string]string, error) {
	values := map[string]string{}
	maps.Copy(values, s.Values)
	merged, _ := mergeParameters(t, s.Environments)
	for _, p := range merged {
		if p.Type != Path {
			continue
		}
		_, given := values[p.Name]
		v, err := p.value(s)
		switch {
		case given && err == nil:
			values[p.Name] = v
		case given || p.Default == nil:
		case err != nil:
			return nil, Problems{{Path: p.Name, Reason: err.Error()}}
		case v != *p.Default:
			values[p.Name] = v
		}
	}
	return values, nil
}

// absolute says whether a path is one of the form of POSIX or of Windows that starts at a root.
func absolute(p string) bool {
	drive := len(p) >= 3 && p[1] == ':' && (p[2] == '/' || p[2] == '\\') && isIdentifier(p[:1])
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, `\\`) || drive
}

// joinPath joins a relative path with a folder, in whose system a backslash may divide names.
func joinPath(dir, relative string) string {
	if !strings.HasPrefix(dir, "/") || strings.HasPrefix(dir, "//") {
		relative = strings.ReplaceAll(relative, `\`, "/")
	}
	return path.Join(dir, relative)
}

// joinDefault joins the default of a PATH with the folder of its template, in which it must stay (7.4).
func joinDefault(dir, given string) (string, error) {
	if absolute(given) {
		return "", fmt.Errorf("the default %s is an absolute path; a default is relative to the folder of the template",
			quote(given))
	}
	dir = path.Clean(dir)
	joined := joinPath(dir, given)
	if joined != dir && !strings.HasPrefix(joined, strings.TrimSuffix(dir, "/")+"/") {
		return "", fmt.Errorf("the default %s leads out of the folder of the template", quote(given))
	}
	return joined, nil
}

func (c *creator) name(t *JobTemplate) string {
	most := 128
	if slices.Contains(t.Extensions, FeatureBundle1) {
		most = 512
	}
	s := c.resolve(t.Name)
	n := utf8.RuneCountInString(s)
	switch {
	case n == 0:
		c.complain(t.Name.problem("the name of the job is empty once it is resolved"))
	case n > most:
		c.complain(t.Name.problem("the name of the job has %d characters once it is resolved, and at most %d are allowed",
			n, most))
	case strings.ContainsFunc(s, func(r rune) bool { return !noControl.allows(r) }):
		c.complain(t.Name.problem("the name of the job has a control character once it is resolved: %s", quote(s)))
	}
	return s
}

func (c *creator) resolve(f Format) string {
	s, err := f.Resolve(c.values)
	if err != nil {
		c.complain(f.problem("%v", err))
	}
	return s
}

func (c *creator) environments(list []*Environment) []*Environment {
	var out []*Environment
	for _, e := range list {
		out = append(out, c.environment(e))
	}
	return out
}

func (c *creator) environment(e *Environment) *Environment {
	copied := *e
	copied.OnEnter = c.action(e.OnEnter)
	copied.OnExit = c.action(e.OnExit)
	for _, v := range e.Variables {
		c.checkVariable(v)
	}
	return &copied
}

// checkVariable finds a value that is too long whatever the host fills in.
func (c *creator) checkVariable(v Variable) {
	n := v.Value.least()
	for _, name := range v.Value.References() {
		n += utf8.RuneCountInString(c.values[name])
	}
	if n > maxVariableText {
		c.complain(v.Value.problem("has at least %d characters once it is resolved, and at most %d are allowed",
			n, maxVariableText))
	}
}

// action resolves the limits of an action; its command is resolved on the host.
func (c *creator) action(a *Action) *Action {
	if a == nil {
		return nil
	}
	copied := *a
	copied.Timeout = c.count(a.Timeout)
	copied.NotifyPeriod = c.count(a.NotifyPeriod)
	if a.Mode.Text == "" || a.Mode.Literal() {
		return &copied
	}
	mode := c.resolve(a.Mode)
	if mode != Terminate && mode != NotifyThenTerminate {
		c.complain(a.Mode.problem("is %s once it is resolved; it must be %s or %s",
			quote(mode), Terminate, NotifyThenTerminate))
	}
	copied.Mode = literal(mode)
	return &copied
}

func (c *creator) count(n Count) Count {
	resolved, err := n.resolve(c.values)
	if err != nil {
		c.complain(n.format.problem("%v", err))
	}
	n.N = resolved
	return n
}

// parse reads the integer of a count and checks its limits.
func (c Count) parse(s string) (int64, error) {
	n, err := parseInt(s)
	switch {
	case err != nil:
		return 0, err
	case n < c.least:
		return 0, fmt.Errorf("is %d; write an integer from %d", n, c.least)
	case n > c.most:
		return 0, fmt.Errorf("is %d; write an integer up to %d", n, c.most)
	}
	return n, nil
}

func (c Count) resolve(values map[string]string) (int64, error) {
	if !c.Set || c.format.Literal() {
		return c.N, nil
	}
	s, err := c.format.Resolve(values)
	if err != nil {
		return 0, err
	}
	return c.parse(s)
}

func (c *creator) step(t *StepTemplate) *Step {
	s := &Step{Name: t.Name, Description: t.Description, Dependencies: t.Dependencies}
	s.Environments = c.environments(t.Environments)
	s.Script = &Script{c.action(t.Script.OnRun), t.Script.Files}
	if t.Requirements != nil {
		c.requirements(s, t.Requirements)
	}
	space, problems := createSpace(t.Space, c.values, c.sizes[t.Name])
	c.problems = append(c.problems, problems...)
	s.Space = space
	return s
}

func (c *creator) requirements(s *Step, t *requirementsTemplate) {
	names := map[string]bool{}
	for _, a := range t.amounts {
		name := c.resolve(a.name)
		if err := checkCapability(name, "amount", names); err != nil {
			c.complain(a.name.problem("%v", err))
		}
		bounds, err := resolveBounds(a, c.values)
		if err != nil {
			c.complain(a.name.problem("%v", err))
		}
		s.Amounts = append(s.Amounts, Amount{strings.ToLower(name), bounds[0], bounds[1]})
	}
	for _, a := range t.attributes {
		name := c.resolve(a.name)
		if err := checkCapability(name, "attr", names); err != nil {
			c.complain(a.name.problem("%v", err))
		}
		if err := checkSingle(name, len(a.allOf)); err != nil {
			c.complain(a.name.problem("%v", err))
		}
		attribute := Attribute{Name: strings.ToLower(name)}
		attribute.AnyOf = c.attributeValues(name, a.anyOf)
		attribute.AllOf = c.attributeValues(name, a.allOf)
		s.Attributes = append(s.Attributes, attribute)
	}
}

func (c *creator) attributeValues(name string, list []Format) (out []string) {
	for _, f := range list {
		s := c.resolve(f)
		if err := checkAttributeValue(name, s); err != nil {
			c.complain(f.problem("%v", err))
		}
		out = append(out, s)
	}
	return out
}

// countTasks refuses a job with too many tasks, before anything is made of them.
func (c *creator) countTasks(j *Job, most int64) {
	if most == 0 {
		most = math.MaxInt64
	}
	total := int64(0)
	for _, s := range j.Steps {
		n := s.Space.Len()
		if n > most-total {
			c.complain(Problem{Path: shorten(s.Name), Reason: fmt.Sprintf("the step has %d tasks, and the job would have more than %d", n, most)})
			return
		}
		total += n
	}
}
