package archive

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

	"qb/api"
	"qb/supervisor/facts"
)

const (
	maxDepth = 32
	maxNodes = 1 << 20
)

// node is an element: text, or elements below it.
type node struct {
	name  string
	text  []byte
	below []*node
}

// child is the first element of that name below, an empty one if there is none.
func (n *node) child(name string) *node {
	i := slices.IndexFunc(n.below, func(b *node) bool { return b.name == name })
	if i < 0 {
		return &node{}
	}
	return n.below[i]
}

func (n *node) words() string { return string(bytes.TrimSpace(n.text)) }

// list are the texts of a list: <item> elements, themselves or with the text in <name>, or one text with commas.
func (n *node) list() []string {
	return n.entries(func(text string) ([]string, error) { return facts.SplitList(text), nil })
}

// entries is the list whose one text is split so; a text that cannot be is one entry.
func (n *node) entries(split func(string) ([]string, error)) (all []string) {
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

// parse reads a document without entities of its own.
func parse(data []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(data))
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("its encoding is %q; only UTF-8 is read", label)
	}
	root := &node{}
	open, count := []*node{root}, 0
	for {
		token, err := d.Token()
		if err == io.EOF {
			return root, nil
		}
		if err != nil {
			return nil, fmt.Errorf("it cannot be read as XML: %w", err)
		}
		top := open[len(open)-1]
		switch t := token.(type) {
		case xml.Directive:
			return nil, errors.New("it has a document type, and could name other files; it is refused")
		case xml.StartElement:
			if count++; len(open) > maxDepth || count > maxNodes {
				return nil, fmt.Errorf("its elements are more than %d deep, or more than %d", maxDepth, maxNodes)
			}
			n := &node{name: nameOf(t)}
			top.below = append(top.below, n)
			open = append(open, n)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			top.text = append(top.text, t...)
		}
	}
}

// nameOf is the name of an element; <object type='job'> is a job.
func nameOf(t xml.StartElement) string {
	for _, a := range t.Attr {
		if t.Name.Local == "object" && a.Name.Local == "type" {
			return "object " + a.Value
		}
	}
	return t.Name.Local
}

// find is the first element of that name, at any depth.
func (n *node) find(name string) *node {
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

// others are attributes of Qube's jobs that have no counterpart here, if they are not empty.
var others = []string{"callbacks", "drivemap", "pathmap", "p_agenda"}

// readXML reads a job of Qube's. What it has by default there stands for what is not given.
func readXML(data []byte) (s Submission, err error) {
	root, err := parse(data)
	if err != nil {
		return s, err
	}
	job := root.find("object job")
	if job == nil {
		return s, errors.New("it has no <object type='job'>")
	}
	pack := packageOf(job)
	for i := range facts.Attributes {
		a := &facts.Attributes[i]
		if !slices.Contains([]string{"range", "env", "flags", "pathmap", "command", "shell"}, a.Name) {
			give(&s.SubmitRequest, a, job.child(cmp.Or(qubesName[a.Name], a.Name)))
		}
	}
	s.Flags = flagsOf(job)
	env := job.child("env")
	s.Env = map[string]string{}
	for _, pair := range env.child("env").below {
		s.Env[pair.name] = pair.words()
	}
	if s.Cwd == "" {
		s.Cwd = env.child("cwd").words()
	}
	if pack["cmdline"] == "" {
		return s, errors.New("its package has no cmdline: only jobs of the types cmdline and cmdrange, or others with a command line, are read")
	}
	s.Command, s.Shell = []string{pack["cmdline"]}, true
	giveAgenda(&s.SubmitRequest, job, pack)
	if status := job.child("status").words(); status == "272" || status == "blocked" {
		s.Status = "blocked"
	}
	for _, name := range others {
		if n := job.child(name); n.words() != "" || len(n.below) > 0 {
			s.Remarks = append(s.Remarks, name+" of the archive is left out")
		}
	}
	return s, nil
}

// give puts the text of an attribute into the request, unless it stands for none.
func give(r *api.SubmitRequest, a *facts.Attribute, n *node) {
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

// packageOf is the job's package: elements, or encoded as (=(name=value)…).
func packageOf(job *node) map[string]string {
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

// giveAgenda takes the range of the package, or the names of the items.
func giveAgenda(r *api.SubmitRequest, job *node, pack map[string]string) {
	r.Range = pack["range"]
	if r.Range == "" {
		r.Range = strings.Join(job.child("agenda").list(), ",")
	}
	for name, to := range map[string]*int{"rangeChunkSize": &r.Chunk, "padding": &r.Padding} {
		if n, err := strconv.Atoi(pack[name]); err == nil && n > 1 {
			*to = n
		}
	}
}

// flagsOf reads the names or the number of a job's flags. Those without an effect are left out.
func flagsOf(job *node) (names []string) {
	given := slices.Concat(job.child("flagsstring").list(), job.child("flags").list())
	for _, flag := range facts.AttributeNamed("flags").Form(given) {
		if slices.Contains(facts.Flags, flag) && flag != facts.FlagExport { // the archive has the environment
			names = append(names, flag)
		}
	}
	slices.Sort(names)
	return names
}
