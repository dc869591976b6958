package openjd

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// controls are the controls of each type of parameter; the first ones cannot be used with allowedValues.
var controls = map[Type]struct{ free, other []string }{
	String: {[]string{"LINE_EDIT", "MULTILINE_EDIT"}, []string{"DROPDOWN_LIST", "CHECK_BOX", "HIDDEN"}},
	Path:   {[]string{"CHOOSE_INPUT_FILE", "CHOOSE_OUTPUT_FILE", "CHOOSE_DIRECTORY"}, []string{"DROPDOWN_LIST", "HIDDEN"}},
	Int:    {[]string{"SPIN_BOX"}, []string{"DROPDOWN_LIST", "HIDDEN"}},
	Float:  {[]string{"SPIN_BOX"}, []string{"DROPDOWN_LIST", "HIDDEN"}},
}

// hintProperties are the hints of each type besides those of all.
var hintProperties = map[Type][]string{
	Path:  {"fileFilters", "fileFilterDefault"},
	Int:   {"singleStepDelta"},
	Float: {"singleStepDelta", "decimals"},
}

// checkBoxPairs are what allowedValues of a check box may be, in any case and order.
var checkBoxPairs = []string{"FALSE TRUE", "NO YES", "OFF ON", "0 1"}

// userInterface reads the hints for a form. They change nothing in a job, but what contradicts itself is refused.
func (r parameterReader) userInterface(o *object, p *Parameter) {
	v, path := o.child("userInterface")
	if v == nil {
		return
	}
	names := append([]string{"control", "label", "groupLabel"}, hintProperties[p.Type]...)
	ui := r.object(v, path, names...)
	if ui == nil {
		return
	}
	known := controls[p.Type]
	if c, at := ui.child("control"); c != nil {
		p.Control.Control = r.choice(c, at, slices.Concat(known.free, known.other)...)
		r.checkControl(c, at, p)
	}
	if label, at := ui.child("label"); label != nil {
		p.Control.Label = r.string(label, at, 1, 64, noControl)
	}
	if label, at := ui.child("groupLabel"); label != nil {
		p.Control.GroupLabel = r.string(label, at, 1, 64, noControl)
	}
	r.spinBox(ui, p)
	r.fileFilters(ui, p)
}

// FormControl is the control of a parameter, or its default.
func (p *Parameter) FormControl() string {
	switch {
	case p.Control.Control != "":
		return p.Control.Control
	case p.Allowed != nil:
		return "DROPDOWN_LIST"
	case p.Type == Path && p.ObjectType != "FILE":
		return "CHOOSE_DIRECTORY"
	case p.Type == Path && p.DataFlow == "OUT":
		return "CHOOSE_OUTPUT_FILE"
	case p.Type == Path:
		return "CHOOSE_INPUT_FILE"
	}
	return controls[p.Type].free[0]
}

// checkControl says whether a control fits what else is defined.
func (r parameterReader) checkControl(v *value, path string, p *Parameter) {
	c := p.Control.Control
	switch {
	case p.Allowed != nil && slices.Contains(controls[p.Type].free, c):
		r.complain(v, path, "%s cannot be used with allowedValues; write DROPDOWN_LIST", c)
	case p.Allowed == nil && (c == "DROPDOWN_LIST" || c == "CHECK_BOX"):
		r.complain(v, path, "%s needs allowedValues", c)
	case c == "CHECK_BOX":
		words := strings.Split(strings.ToUpper(strings.Join(p.Allowed, "\x00")), "\x00")
		slices.Sort(words)
		if !slices.Contains(checkBoxPairs, strings.Join(words, " ")) {
			r.complain(v, path, "CHECK_BOX needs a pair of allowedValues: true and false, yes and no, on and off, or 1 and 0")
		}
	case c == "CHOOSE_DIRECTORY" && p.ObjectType == "FILE":
		r.complain(v, path, "CHOOSE_DIRECTORY cannot be used with the objectType FILE")
	case (c == "CHOOSE_INPUT_FILE" || c == "CHOOSE_OUTPUT_FILE") && p.ObjectType == "DIRECTORY":
		r.complain(v, path, "%s cannot be used with the objectType DIRECTORY", c)
	}
}

// spinBox reads the hints of a spin box.
func (r parameterReader) spinBox(ui *object, p *Parameter) {
	for _, name := range []string{"singleStepDelta", "decimals"} {
		v, path := ui.child(name)
		if v == nil || !slices.Contains(hintProperties[p.Type], name) {
			continue
		}
		if c := p.FormControl(); c != "SPIN_BOX" {
			r.complain(v, path, "belongs to a SPIN_BOX, and the control is %s", c)
		}
		of := p
		if name == "decimals" {
			of = &Parameter{Type: Int}
		}
		s, ok := r.valueOf(v, path, of)
		switch {
		case !ok:
		case name == "decimals" && of.compare(s, "0") < 0:
			r.complain(v, path, "is %s; write an integer from 0", s)
		case name == "singleStepDelta" && of.compare(s, "0") <= 0:
			r.complain(v, path, "is %s; write a number above 0", s)
		}
	}
}

// fileFilters reads the filters of a file dialog (2.7).
func (r parameterReader) fileFilters(ui *object, p *Parameter) {
	if p.Type != Path {
		return
	}
	for _, name := range hintProperties[Path] {
		v, path := ui.child(name)
		if v == nil {
			continue
		}
		if c := p.FormControl(); c != "CHOOSE_INPUT_FILE" && c != "CHOOSE_OUTPUT_FILE" {
			r.complain(v, path, "belongs to the choice of a file, and the control is %s", c)
		}
		if name == "fileFilterDefault" {
			r.fileFilter(v, path)
			continue
		}
		for i, item := range r.list(v, path, 1, 20) {
			p.Control.Patterns = append(p.Control.Patterns, r.fileFilter(item, index(path, i))...)
		}
	}
}

// fileFilter reads a filter, and returns its patterns.
func (r parameterReader) fileFilter(v *value, path string) (all []string) {
	o := r.object(v, path, "label", "patterns")
	if o == nil {
		return nil
	}
	if label, at := o.need("label"); label != nil {
		r.string(label, at, 1, 64, noControl)
	}
	patterns, at := o.need("patterns")
	if patterns == nil {
		return nil
	}
	for i, item := range r.list(patterns, at, 1, 20) {
		s := r.string(item, index(at, i), 1, 20, noControl)
		all = append(all, s)
		if s != "" && !isFilePattern(s) {
			r.complain(item, index(at, i), "%s is not a pattern; write *, *.* or * with an extension, such as *.exr", quote(s))
		}
	}
	return all
}

// isFilePattern says whether a text is a pattern of a file filter (2.8).
func isFilePattern(s string) bool {
	extension, found := strings.CutPrefix(s, "*.")
	return s == "*" || s == "*.*" ||
		found && utf8.RuneCountInString(extension) > 0 && !strings.ContainsAny(extension, "\\/*?[]#%&{}<>$!'\":@`|=")
}
