package main

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"qb/api"
	"qb/supervisor/job/facts"
)

const (
	maxXMLDepth = 32
	maxXMLNodes = 1 << 20
)

// xmlNode is an element: text, or elements below it.
type xmlNode struct {
	name  string
	text  []byte
	below []*xmlNode
}

// child is the first element of that name below, an empty one if there is none.
func (n *xmlNode) child(name string) *xmlNode {
	i := slices.IndexFunc(n.below, func(b *xmlNode) bool { return b.name == name })
	if i < 0 {
		return &xmlNode{}
	}
	return n.below[i]
}

func (n *xmlNode) words() string { return string(bytes.TrimSpace(n.text)) }

// list are the texts of a list: <item> elements, themselves or with the text in <name>, or one text with commas.
func (n *xmlNode) list() []string {
	return n.entries(func(text string) ([]string, error) { return facts.SplitList(text), nil })
}

// entries is the list whose one text is split so; a text that cannot be is one entry.
func (n *xmlNode) entries(split func(string) ([]string, error)) (all []string) {
	for _, b := range n.below {
		if text := cmp.Or(b.child("name").words(), b.words()); text != "" {
			all = append(all, text)
		}
	}
	if len(n.below) == 0 {
		var err error
		if all, err = split(n.words()); err != nil {
			all = []string{n.words()}
		}
	}
	return all
}

// parseXML reads a document without entities of its own.
func parseXML(data []byte) (*xmlNode, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(label) {
		case "us-ascii", "ascii": // which UTF-8 contains
			return in, nil
		case "iso-8859-1", "latin1":
			return latin1{in}, nil
		}
		return nil, fmt.Errorf("the file's encoding is %q; save the file in UTF-8", label)
	}
	root := &xmlNode{}
	open, count := []*xmlNode{root}, 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			return root, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the file cannot be read as XML: %w", err)
		}
		top := open[len(open)-1]
		switch t := token.(type) {
		case xml.Directive:
			return nil, errors.New("the file has a document type, which could name other files; remove the <!DOCTYPE ...> line")
		case xml.StartElement:
			if count++; len(open) > maxXMLDepth || count > maxXMLNodes {
				return nil, fmt.Errorf("the file's elements are more than %d deep, or more than %d", maxXMLDepth, maxXMLNodes)
			}
			n := &xmlNode{name: xmlName(t)}
			top.below = append(top.below, n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			top.text = append(top.text, t...)
		}
	}
}

// latin1 reads bytes that are characters as UTF-8.
type latin1 struct{ from io.Reader }

func (l latin1) Read(to []byte) (int, error) {
	from := make([]byte, len(to)/utf8.UTFMax)
	n, err := l.from.Read(from)
	text := to[:0]
	for _, c := range from[:n] {
		text = utf8.AppendRune(text, rune(c))
	}
	return len(text), err
}

// xmlName is the name of an element; <object type='job'> is a job.
func xmlName(t xml.StartElement) string {
	for _, a := range t.Attr {
		if t.Name.Local == "object" && a.Name.Local == "type" {
			return "object " + a.Value
		}
	}
	return t.Name.Local
}

// find is the first element of that name, at any depth.
func (n *xmlNode) find(name string) *xmlNode {
	for _, b := range n.below {
		if b.name == name {
			return b
		}
		if found := b.find(name); found != nil {
			return found
		}
	}
	return nil
}

// qubesName is how Qube calls an attribute.
var qubesName = map[string]string{"agendatimelimit": "agenda_timelimit"}

// withoutCounterpart are attributes of Qube's jobs that have no counterpart here, if they are not empty.
var withoutCounterpart = []string{"callbacks", "drivemap", "pathmap", "p_agenda"}

// parseXJA reads a job of Qube's. A value that is not given gets Qube's default.
func parseXJA(data []byte) (s archivedJob, err error) {
	root, err := parseXML(data)
	if err != nil {
		return s, err
	}
	job := root.find("object job")
	if job == nil {
		return s, errors.New("the file has no <object type='job'>")
	}
	pack := xjaPackage(job)
	for i := range facts.Attributes {
		a := &facts.Attributes[i]
		if !slices.Contains([]string{"range", "env", "flags", "pathmap", "command", "shell"}, a.Name) {
			giveXMLText(&s.SubmitRequest, a, job.child(cmp.Or(qubesName[a.Name], a.Name)))
		}
	}
	s.Flags = xjaFlags(job)
	env := job.child("env")
	s.Env = map[string]string{}
	for _, pair := range env.child("env").below {
		s.Env[pair.name] = pair.words()
	}
	if s.Cwd == "" {
		s.Cwd = env.child("cwd").words()
	}
	if pack["cmdline"] == "" {
		return s, errors.New("the job's package has no cmdline: only jobs of the types cmdline and cmdrange, or others with a command line, are read")
	}
	s.Command, s.Shell = []string{pack["cmdline"]}, true
	s.Remarks = giveXJAAgenda(&s.SubmitRequest, job, pack)
	if status := job.child("status").words(); status == "272" || status == "blocked" {
		s.Status = "blocked"
	}
	for _, name := range withoutCounterpart {
		if n := job.child(name); n.words() != "" || len(n.below) > 0 {
			s.Remarks = append(s.Remarks, name+" of the archive is left out")
		}
	}
	return s, nil
}

// giveXMLText puts the text of an attribute into the request, unless the text means "none".
func giveXMLText(r *api.SubmitRequest, a *facts.Attribute, n *xmlNode) {
	member, text := api.Member(r, a.Name), n.words()
	if a.In != "" {
		if text != "" {
			if r.Tags == nil {
				r.Tags = map[string]string{}
			}
			r.Tags[a.Name] = text
		}
		return
	}
	if !member.IsValid() {
		return
	}
	switch member.Interface().(type) {
	case string:
		member.SetString(text)
	case []string:
		member.Set(reflect.ValueOf(n.entries(a.Split)))
	case int:
		if v, err := strconv.Atoi(text); err == nil && v > 0 {
			member.SetInt(int64(v))
		}
	case *int:
		if v, err := strconv.Atoi(text); err == nil && (v > 0 || a.Unlimited) {
			member.Set(reflect.ValueOf(&v))
		}
	}
}

// xjaPackage is the job's package: elements, or encoded as (=(name=value)…).
func xjaPackage(job *xmlNode) map[string]string {
	all := map[string]string{}
	for _, name := range []string{"package", "data"} {
		n := job.child(name)
		for _, b := range n.below {
			all[b.name] = b.words()
		}
		maps.Copy(all, decodePackage(n.words()))
	}
	return all
}

// decodePackage reads (=(name=value)(name=value)): a backslash takes the next character as it is.
func decodePackage(text string) map[string]string {
	inner, ok := strings.CutPrefix(text, "(=")
	if !ok {
		return nil
	}
	all, depth, one := map[string]string{}, 0, []byte(nil)
	for i := 0; i < len(inner); i++ {
		c := inner[i]
		switch {
		case c == '\\' && i+1 < len(inner):
			i++
			one = append(one, inner[i])
			continue
		case c == '(':
			if depth++; depth == 1 {
				one = nil
				continue
			}
		case c == ')':
			if depth--; depth == 0 {
				if name, value, found := strings.Cut(string(one), "="); found {
					all[name] = value
				}
				continue
			}
			if depth < 0 {
				return all
			}
		}
		one = append(one, c)
	}
	return all
}

// xjaFlags reads the names or the number of a job's flags. Those without an effect are left out.
func xjaFlags(job *xmlNode) (names []string) {
	given := slices.Concat(job.child("flagsstring").list(), job.child("flags").list())
	for _, flag := range facts.AttributeNamed("flags").Form(given) {
		if slices.Contains(facts.Flags, flag) && flag != facts.FlagExport { // the archive has the environment
			names = append(names, flag)
		}
	}
	slices.Sort(names)
	return names
}
