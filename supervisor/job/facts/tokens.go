package facts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"qb/agenda"
)

// Tokens of an item's numbers, as HasToken takes them.
const (
	TokenNumber = "NUMBER"
	TokenRange  = "RANGE"
)

// naming is which tokens of items a text has: the number alone, the ends, the step or all numbers of an item.
type naming struct{ number, start, end, step, all bool }

func namingOf(texts ...string) (n naming) {
	for _, text := range texts {
		n.number = n.number || HasToken(text, TokenNumber)
		n.start = n.start || HasToken(text, "START")
		n.end = n.end || HasToken(text, "END")
		n.step = n.step || HasToken(text, "STEP")
		n.all = n.all || HasToken(text, TokenRange)
	}
	return n
}

// HasToken says whether a text has a token of that name, padded or not.
func HasToken(text, name string) bool {
	return strings.Contains(text, "QB_FRAME_"+name) || strings.Contains(text, "QB_PADDED_FRAME_"+name)
}

// ends says whether the text has an end of an item's numbers and not all of them.
func (n naming) ends() bool { return (n.start || n.end) && !n.all }

// one says whether of several numbers of an item the text has one.
func (n naming) one() bool { return !n.all && (n.number || n.start || n.end) && !(n.start && n.end) }

func (j *JobFacts) variables() (values []string) {
	for _, value := range j.Env {
		values = append(values, value)
	}
	return values
}

// programs are what runs for an item, with the member that each was given in.
func (j *JobFacts) programs() (list []program) {
	list = append(list, program{"command", j.Command, j.Shell})
	for _, of := range []struct {
		member string
		texts  []string
	}{{"preflights", j.Preflights}, {"agenda_preflights", j.AgendaPreflights}, {"agenda_postflights", j.AgendaPostflights},
		{"postflights", j.Postflights}} {
		for _, text := range of.texts {
			list = append(list, program{of.member, []string{text}, true})
		}
	}
	return list
}

type program struct {
	member string
	words  []string
	shell  bool
}

// NamesEnds says whether something that runs for an item has START or END of its numbers, and not all of them. Then
// these and STEP must name each item.
func (j *JobFacts) NamesEnds() bool {
	for _, p := range j.programs() {
		if namingOf(p.words...).ends() {
			return true
		}
	}
	if namingOf(j.Command...).all {
		return false
	}
	return namingOf(j.variables()...).ends()
}

// ItemRemarks tell of commands that would leave numbers of an item out, add some, or read one in octal.
func (j *JobFacts) ItemRemarks(a *agenda.Agenda) (remarks []string) {
	if j.Agenda.Range == "" {
		return nil
	}
	variables := j.variables()
	several, stepped, zeros := a.Len() < a.Entries(), a.Stepped(), a.Pads()
	say := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(remarks, text) {
			remarks = append(remarks, text)
		}
	}
	for _, p := range j.programs() {
		n, set := namingOf(p.words...), naming{}
		if p.member == "command" {
			set = namingOf(variables...)
		}
		both := namingOf(append(variables, p.words...)...)
		switch {
		case p.member != "command" && several && n.one(), p.member == "command" && several &&
			(n.number || set.number || both.ends()) && both.one():
			say("%s names one number of an item, and items have up to %d: write QB_FRAME_START, QB_FRAME_END and QB_FRAME_STEP, or QB_FRAME_RANGE, or leave -chunk and -partitions out", p.member, a.MostEntries())
		case stepped && n.start && n.end && !n.step && !n.all && !set.step:
			say("%s names QB_FRAME_START and QB_FRAME_END without QB_FRAME_STEP, and numbers of an item are not all next to each other: without the step it takes numbers that are not of the item", p.member)
		}
		if zeros && octal(p.words) {
			say("%s calculates with a number that has leading zeros, which a shell takes for octal: write $QB_FRAME_NUMBER there, which has none", p.member)
		}
	}
	return remarks
}

// calculations are the places of a shell line in which a number with leading zeros is octal.
var calculations = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?s)\(\(.*?\)\)`),
		regexp.MustCompile(`\$\[[^\]]*\]`),
		regexp.MustCompile(`(^|[;&|({\s])let\s[^;&|\n]*`),
		regexp.MustCompile(`\[\[[^\]]*\s-(eq|ne|lt|le|gt|ge)\s[^\]]*\]\]`),
		regexp.MustCompile(`(^|[;&|({\s])printf\s[^;&|\n]*%[-+ #0-9]*[di][^;&|\n]*`),
	}
})

var (
	paddedToken = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`QB_PADDED_FRAME_(NUMBER|START|END)`)
	})
	replacedToken = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(^|[^${A-Z_]|[^$]\{)QB_FRAME_(NUMBER|START|END)`)
	})
)

func octal(words []string) bool {
	for _, word := range words {
		for _, c := range calculations() {
			for _, part := range c.FindAllString(word, -1) {
				if paddedToken().MatchString(part) || replacedToken().MatchString(part) {
					return true
				}
			}
		}
	}
	return false
}
