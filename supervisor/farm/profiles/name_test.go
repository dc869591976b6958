package profiles

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"qb/supervisor/job/facts"
)

func TestName(t *testing.T) {
	for _, c := range []struct{ program, job, want string }{
		{"blender", "shot010_beauty_v003", "blender:shot_beauty"},
		{"blender", "shot020_beauty_v1", "blender:shot_beauty"},
		{"blender", "sq010_sh0020.beauty V12 take2", "blender:sq_sh.beauty take"},
		{"nuke", "v003", "nuke"},
		{"nuke", "2026-11-23", "nuke"},
		{"nuke", "nuke", "nuke"},
		{"nuke13.2", "nuke13.2", "nuke13.2"},
		{"nuke", "dev2_comp", "nuke:dev_comp"}, // this v is no version
		{"nuke", "show/seq", "nuke:show_seq"},
		{"maya", "Größe 4", "maya:Größe"},
		{"..", "..", ""},
	} {
		if got := Name(c.program, c.job); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.program, c.job, got, c.want)
		}
	}
}

// A default name may always be given as a name, and other digits make no other name.
func TestNamesAreAllowed(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		program, job := rapid.String().Draw(rt, "program"), rapid.String().Draw(rt, "job")
		name := Name(program, job)
		if err := facts.AttributeNamed("profile").Check(name); err != nil || !utf8.ValidString(name) || utf8.RuneCountInString(name) > facts.MaxName {
			rt.Fatalf("%q: %v", name, err)
		}
		others := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return '0' + (r-'0'+3)%10
			}
			return r
		}, job)
		if o := Name(program, others); o != name && program != job {
			rt.Fatalf("%q of %q, %q of %q", name, job, o, others)
		}
	})
}
