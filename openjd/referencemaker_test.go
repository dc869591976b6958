package openjd

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// A properties is a mapping of a template.
type properties = map[string]any

// A templateMaker makes a template of random parts that are right, and then may make one part wrong.
type templateMaker struct {
	*rand.Rand
	words    map[string][]json.RawMessage // that a mutation writes, by the property; "" for any property
	values   map[string]string
	integers []string // job parameters
	texts    []string // job parameters whose values are short and without control characters
	paths    []string // job parameters
}

// referenceWords are the words of testdata/reference.json.
func referenceWords(t *testing.T) (words map[string][]json.RawMessage) {
	t.Helper()
	text, err := os.ReadFile("testdata/reference.json")
	if err == nil {
		err = json.Unmarshal(repeats.ReplaceAllFunc(text, func(b []byte) []byte { return []byte(repeated(string(b))) }), &words)
	}
	if err != nil {
		t.Fatal(err)
	}
	return words
}

func makeReferenceCase(t *testing.T, words map[string][]json.RawMessage, seed uint64) referenceCase {
	t.Helper()
	m := &templateMaker{Rand: rand.New(rand.NewPCG(seed, 1)), words: words, values: map[string]string{}}
	template := m.template()
	mutated := !m.chance(3)
	if mutated {
		m.mutate(template)
	}
	document, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	return referenceCase{seed: seed, mutated: mutated, document: document, values: m.values}
}

// chance says yes one time in n.
func (m *templateMaker) chance(n int) bool { return m.IntN(n) == 0 }

func pick[T any](m *templateMaker, of ...T) T { return of[m.IntN(len(of))] }

func (m *templateMaker) template() properties {
	t := properties{"specificationVersion": jobVersion}
	var parameters []any
	for i := range m.IntN(5) {
		parameters = append(parameters, m.jobParameter(fmt.Sprint("P", i)))
	}
	if parameters != nil {
		t["parameterDefinitions"] = parameters
	}
	t["name"] = "Job" + m.reference("Param", m.texts)
	if m.chance(5) {
		t["description"] = pick(m, "text", "é", "two\nlines\twith a tab")
	}
	if m.chance(3) {
		var list []any
		for i := range 1 + m.IntN(2) {
			list = append(list, m.environment(fmt.Sprint("JE", i)))
		}
		t["jobEnvironments"] = list
	}
	var steps []any
	for i := range 1 + m.IntN(3) {
		steps = append(steps, m.step(i))
	}
	t["steps"] = steps
	return t
}

// reference is a reference to one of the names, or nothing.
func (m *templateMaker) reference(of string, names []string) string {
	if len(names) == 0 || m.chance(2) {
		return ""
	}
	return fmt.Sprintf(pick(m, "{{%s.%s}}", "{{ %s.%s }}", "{{  %s.%s}}"), of, pick(m, names...))
}

func (m *templateMaker) jobParameter(name string) properties {
	p := properties{"name": name, "type": pick(m, "INT", "FLOAT", "STRING", "PATH")}
	if m.chance(5) {
		p["description"] = "text"
	}
	var value any
	switch p["type"] {
	case "INT":
		value = m.intParameter(p)
		m.integers = append(m.integers, name)
		m.texts = append(m.texts, name)
	case "FLOAT":
		value = m.floatParameter(p)
		m.texts = append(m.texts, name)
	case "STRING":
		value = m.stringParameter(p)
		m.texts = append(m.texts, name)
	default:
		value = m.pathParameter(p)
		m.paths = append(m.paths, name)
	}
	if m.chance(3) {
		m.values[name] = fmt.Sprint(value)
		if m.chance(2) {
			return p
		}
	}
	p["default"] = value
	if p["type"] == "INT" && m.chance(4) {
		p["default"] = fmt.Sprint(value)
	}
	return p
}

func (m *templateMaker) intParameter(p properties) any {
	n := m.IntN(20) - 5
	if m.chance(3) {
		p["minValue"] = n - m.IntN(3)
	}
	if m.chance(3) {
		p["maxValue"] = n + m.IntN(3)
	}
	if m.chance(5) {
		delete(p, "minValue")
		delete(p, "maxValue")
		p["allowedValues"] = []any{n, fmt.Sprint(n + 1), n + 2}
	}
	if m.chance(6) {
		p["userInterface"] = properties{"control": "HIDDEN", "label": "Label"}
	}
	return n
}

func (m *templateMaker) floatParameter(p properties) any {
	n := pick(m, 0.5, 1.25, -2.5, 3.75)
	if m.chance(3) {
		p["minValue"] = n - 0.5
	}
	if m.chance(3) {
		p["maxValue"] = pick[any](m, n, n+1)
	}
	if m.chance(6) && p["maxValue"] == nil && p["minValue"] == nil {
		p["userInterface"] = properties{"control": "SPIN_BOX", "decimals": 2, "singleStepDelta": 0.5}
	}
	return n
}

func (m *templateMaker) stringParameter(p properties) any {
	s := pick(m, "left", "b c", "é", "x_9", "1-3", "Ω")
	if m.chance(3) {
		p["minLength"] = 1
	}
	if m.chance(3) {
		p["maxLength"] = 5
	}
	switch m.IntN(6) {
	case 0:
		p["allowedValues"] = []any{s, "right"}
		if m.chance(2) {
			p["userInterface"] = properties{"control": "DROPDOWN_LIST", "groupLabel": "Group"}
		}
	case 1:
		p["userInterface"] = properties{"control": pick(m, "LINE_EDIT", "MULTILINE_EDIT", "HIDDEN")}
	}
	return s
}

func (m *templateMaker) pathParameter(p properties) any {
	if m.chance(3) {
		p["objectType"] = pick(m, "FILE", "DIRECTORY")
	}
	if m.chance(3) {
		p["maxLength"] = len(workingFolder + "/dir/sub/file")
	}
	if m.chance(3) {
		p["dataFlow"] = pick(m, "NONE", "IN", "OUT", "INOUT")
	}
	if m.chance(5) {
		p["userInterface"] = properties{"control": "CHOOSE_INPUT_FILE", "fileFilters": []any{
			properties{"label": "Images", "patterns": []any{"*.png", "*"}}}}
		p["objectType"] = "FILE"
	}
	return pick(m, "a", "a/b.png", "dir/sub/file", "")
}

func (m *templateMaker) environment(name string) properties {
	e := properties{"name": name}
	if m.chance(2) {
		e["variables"] = properties{"A": "x" + m.reference("Param", slices.Concat(m.texts, m.paths)), "_b9": ""}
		if m.chance(2) {
			return e
		}
	}
	s := properties{"actions": properties{"onEnter": m.action(nil)}}
	if m.chance(2) {
		s["actions"].(properties)["onExit"] = m.action([]string{"Env.File.EF"})
		s["embeddedFiles"] = []any{m.file("EF", nil)}
	}
	e["script"] = s
	return e
}

// action is an action that may use the given names besides those of the job and the session.
func (m *templateMaker) action(names []string) properties {
	names = append(names, "Session.WorkingDirectory", "Session.HasPathMappingRules", "Session.PathMappingRulesFile")
	for _, p := range m.texts {
		names = append(names, "Param."+p, "RawParam."+p)
	}
	for _, p := range m.paths {
		names = append(names, "Param."+p, "RawParam."+p)
	}
	a := properties{"command": pick(m, "run", "/bin/echo", "{{"+pick(m, names...)+"}}")}
	if m.chance(2) {
		a["args"] = []any{"", "x {{" + pick(m, names...) + "}} y", "{{ " + pick(m, names...) + " }}"}
	}
	if m.chance(3) {
		a["timeout"] = 1 + m.IntN(100)
	}
	switch m.IntN(6) {
	case 0:
		a["cancelation"] = properties{"mode": Terminate}
	case 1:
		a["cancelation"] = properties{"mode": NotifyThenTerminate}
	case 2:
		a["cancelation"] = properties{"mode": NotifyThenTerminate, "notifyPeriodInSeconds": 1 + m.IntN(600)}
	}
	return a
}

func (m *templateMaker) file(name string, names []string) properties {
	f := properties{"name": name, "type": "TEXT"}
	f["data"] = "line\nof " + m.reference("Param", slices.Concat(m.texts, m.paths))
	if m.chance(3) {
		f["filename"] = "file.txt"
	}
	if m.chance(3) {
		f["runnable"] = m.chance(2)
	}
	if len(names) > 0 && m.chance(3) {
		f["data"] = "{{" + pick(m, names...) + "}}"
	}
	return f
}

func (m *templateMaker) step(i int) properties {
	s := properties{"name": fmt.Sprint("S", i)}
	if i > 0 && m.chance(2) {
		s["dependencies"] = []any{properties{"dependsOn": fmt.Sprint("S", m.IntN(i))}}
	}
	var names []string
	if !m.chance(4) {
		space := m.space()
		s["parameterSpace"] = space
		for _, d := range space["taskParameterDefinitions"].([]any) {
			name := d.(properties)["name"].(string)
			names = append(names, "Task.Param."+name, "Task.RawParam."+name)
		}
	}
	if m.chance(3) {
		s["stepEnvironments"] = []any{m.environment("SE")}
	}
	if m.chance(3) {
		s["hostRequirements"] = m.host()
	}
	script := properties{}
	if m.chance(3) {
		script["embeddedFiles"] = []any{m.file("F0", append(names, "Task.File.F1")), m.file("F1", names)}
		names = append(names, "Task.File.F0")
	}
	script["actions"] = properties{"onRun": m.action(names)}
	s["script"] = script
	return s
}

// space has parameters with three values each, so that all can be combined in parentheses; without them one may have
// another number of values.
func (m *templateMaker) space() properties {
	n := 1 + m.IntN(3)
	var list []any
	for i := range n {
		list = append(list, m.taskParameter(fmt.Sprint("T", i)))
	}
	s := properties{"taskParameterDefinitions": list}
	if m.chance(2) {
		s["combination"] = pick(m, [][]string{{"T0"}, {"T0*T1", "T1 * T0", "(T0,T1)"},
			{"T2*T0*T1", "(T0, T1) * T2", "T1*(T2,T0)", "(T0,T1,T2)", "((T0,T1),T2)"}}[n-1]...)
	}
	first := list[0].(properties)
	if c, _ := s["combination"].(string); first["type"] == "INT" && !strings.Contains(c, "(") && m.chance(2) {
		first["range"] = pick(m, "5", "1-1000000", "7,9-10,20-1000:3")
	}
	return s
}

func (m *templateMaker) taskParameter(name string) properties {
	p := properties{"name": name, "type": pick(m, "INT", "INT", "FLOAT", "STRING", "PATH")}
	switch p["type"] {
	case "INT":
		p["range"] = pick[any](m, "1-3", "1-9:4", "-3--1", " 4 , 6-7", []any{3, 1, 2}, []any{1, "2", 3})
		if m.chance(20) {
			p["range"] = "3-1:-1"
		}
		if len(m.integers) > 0 && m.chance(3) {
			p["range"] = pick[any](m, "{{Param.%s}},100-101", []any{1, 2, "{{Param.%s}}"})
			p["range"] = filled(p["range"], pick(m, m.integers...))
		}
	case "FLOAT":
		p["range"] = []any{pick[any](m, 1, 1.5, "2.5", "0.10"), 2.25, -1}
	default:
		p["range"] = []any{"a", "b" + m.reference("RawParam", slices.Concat(m.texts, m.paths)), "d e"}
	}
	return p
}

// filled puts a name into a range.
func filled(v any, name string) any {
	if s, ok := v.(string); ok {
		return fmt.Sprintf(s, name)
	}
	list := slices.Clone(v.([]any))
	list[2] = fmt.Sprintf(list[2].(string), name)
	return list
}

func (m *templateMaker) host() properties {
	h := properties{}
	if m.chance(2) {
		name := pick(m, "amount.worker.vcpu", "amount.worker.memory", "amount.licenses", "vendor:amount.x.y")
		h["amounts"] = []any{properties{"name": name, "min": pick[any](m, 1, 2.5)}}
	}
	if len(h) == 0 || m.chance(2) {
		name := pick(m, "attr.color", "vendor:attr.color", "attr.worker.cpu.arch")
		h["attributes"] = []any{
			properties{"name": "attr.worker.os.family", "anyOf": []any{"linux", "windows"}},
			properties{"name": name, pick(m, "allOf", "anyOf"): []any{"x86_64"}},
		}
	}
	return h
}

// A place is a value in a template, and how to change it.
type place struct {
	key   string // of the nearest mapping
	value any
	set   func(any)
}

// placesOf are all values in a value.
func placesOf(v any, key string, out []place) []place {
	switch v := v.(type) {
	case properties:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, place{k, v[k], func(to any) { v[k] = to }})
			out = placesOf(v[k], k, out)
		}
	case []any:
		for i := range v {
			out = append(out, place{key, v[i], func(to any) { v[i] = to }})
			out = placesOf(v[i], key, out)
		}
	}
	return out
}

// mutate changes one thing of a template or of the values.
func (m *templateMaker) mutate(template properties) {
	if names := slices.Sorted(maps.Keys(m.values)); len(names) > 0 && m.chance(8) {
		m.values[pick(m, names...)] = strings.Trim(string(pick(m, m.words["default"]...)), `"`)
		return
	}
	if m.chance(100) {
		m.values["Unknown"] = "1"
		return
	}
	places := map[string][]place{}
	for _, p := range placesOf(template, "", nil) {
		places[p.key] = append(places[p.key], p)
	}
	p := pick(m, places[pick(m, slices.Sorted(maps.Keys(places))...)]...)
	words := m.words[p.key]
	_, list := p.value.([]any)
	mapping, isMapping := p.value.(properties)
	switch {
	case isMapping && m.chance(2):
		m.mutateMapping(mapping)
	case list && m.chance(2):
		m.mutateList(p)
	case len(words) > 0 && !m.chance(4):
		p.set(pick(m, words...))
	case m.chance(3):
		s, _ := p.value.(string)
		p.set(pick(m, s+strings.Repeat("x", pick(m, 63, 64, 65, 100, 128, 129, 256, 257, 1024, 1280, 2048, 2049))))
	default:
		p.set(pick(m, m.words[""]...))
	}
}

// mutateMapping removes, adds or replaces a property.
func (m *templateMaker) mutateMapping(v properties) {
	keys := slices.Sorted(maps.Keys(v))
	known := slices.Sorted(maps.Keys(m.words))
	switch {
	case len(keys) > 0 && m.chance(2):
		delete(v, pick(m, keys...))
	case m.chance(3):
		v["unknown"] = 1
	default:
		key := pick(m, known[1:]...)
		v[key] = pick(m, m.words[key]...)
	}
}

// mutateList makes a list empty, longer, or the other way round.
func (m *templateMaker) mutateList(p place) {
	list := slices.Clone(p.value.([]any))
	switch m.IntN(4) {
	case 0:
		list = []any{}
	case 1:
		slices.Reverse(list)
	case 2:
		list = append(list, list[m.IntN(len(list))])
	default:
		n := pick(m, 16, 17, 50, 51, 1024, 1025)
		for i := len(list); i < n; i++ {
			list = append(list, renamed(list[0], i))
		}
	}
	p.set(list)
}

// renamed is a copy of an item with a name of its own.
func renamed(v any, i int) any {
	item, ok := v.(properties)
	if !ok || item["name"] == nil {
		return v
	}
	item = maps.Clone(item)
	item["name"] = fmt.Sprint(item["name"], i)
	return item
}
