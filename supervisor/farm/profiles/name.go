package profiles

import (
	"strings"
	"unicode"

	"qb/supervisor/job/facts"
)

// Name is the profile of a job that names none: its program, and its name without versions and digits. Jobs of
// shot010_v003 and shot020_v001 have the same.
func Name(program, job string) string {
	kind := kindOf(job)
	if kind == "" || strings.HasPrefix(program, kind) {
		kind = program
	} else {
		kind = program + ":" + kind
	}
	name := []rune(strings.TrimLeft(strings.Map(allowed, strings.ToValidUTF8(kind, "")), "."))
	return string(name[:min(len(name), facts.MaxName)])
}

// kindOf is a name without versions such as v003, without digits, and with one separator where several would stand.
func kindOf(job string) string {
	var kind strings.Builder
	all, before := []rune(job), ' ' // the last character that was no digit
	for n, r := range all {
		digitNext := n+1 < len(all) && unicode.IsDigit(all[n+1])
		switch {
		case unicode.IsDigit(r):
			continue
		case (r == 'v' || r == 'V') && digitNext && (n == 0 || !unicode.IsLetter(all[n-1])):
			continue
		case unicode.IsLetter(r) || unicode.IsLetter(before):
			kind.WriteRune(r)
		}
		before = r
	}
	return strings.TrimFunc(kind.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

// allowed replaces what the name of a profile may not have.
func allowed(r rune) rune {
	if r == '/' || unicode.IsControl(r) {
		return '_'
	}
	return r
}
