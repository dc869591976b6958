package facts

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Changed is an attribute that a change has given another value; both are written as an option has them, and empty if
// only users who may read the job's environment know them.
type Changed struct{ Name, From, To string }

// Changed are the attributes of which the change made another value, by name.
func (c *JobChange) Changed(from, to *JobFacts) (all []Changed) {
	for _, name := range slices.Sorted(slices.Values(c.Given)) {
		a := AttributeNamed(name)
		x := Changed{Name: name, From: a.text(from), To: a.text(to)}
		if x.From == x.To {
			continue
		}
		if a.Private {
			x.From, x.To = "", ""
		}
		all = append(all, x)
	}
	return all
}

// TakeBack is the command that gives the attributes of hosts that the change gave their former values.
func (c *JobChange) TakeBack(from *JobFacts) string {
	text := "qbmodify"
	for _, name := range slices.Sorted(slices.Values(c.Given)) {
		if a := AttributeNamed(name); a.OfHosts {
			text += fmt.Sprintf(" -m%s %s", a.Flag(), shellWord(a.text(from)))
		}
	}
	return fmt.Sprintf("%s %d", text, from.ID)
}

// text is a value as an option has it.
func (a *Attribute) text(j *JobFacts) string {
	switch v := a.Get(j).(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(v, ",")
	case map[string]string:
		var entries []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			entries = append(entries, key+"="+v[key])
		}
		return strings.Join(entries, ",")
	default:
		return fmt.Sprint(v)
	}
}

var plainWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\w@%+=:,./-]+$`)
})

// shellWord is a text as a shell reads it as one word.
func shellWord(text string) string {
	if plainWord().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
