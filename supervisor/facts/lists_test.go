package facts

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestListsAgainstEntries: whatever entries, however they are quoted, a list that is read gives the entries that were written. Paths get
// quotes around them where a comma or a quote begins a doubt, lines for a shell keep the quotes that they have.
func TestListsAgainstEntries(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	some := func(signs string, most int) string {
		var text strings.Builder
		for range 1 + r.IntN(most) {
			text.WriteByte(signs[r.IntN(len(signs))])
		}
		return text.String()
	}
	for range 20_000 {
		var paths, written, lines []string
		for range 1 + r.IntN(4) {
			path := "/" + some(`ab ,'"=:\$`, 9) + "z"
			if r.IntN(4) == 0 {
				path = path[1:]
			}
			path = strings.TrimSpace(path)
			text := path
			if strings.ContainsRune(path, ',') || strings.HasPrefix(path, "'") || strings.HasPrefix(path, `"`) || r.IntN(3) == 0 {
				quote := []string{"'", `"`}[r.IntN(2)]
				text = quote + strings.ReplaceAll(path, quote, quote+quote) + quote
				if r.IntN(3) == 0 {
					path, text = path+":10K", text+":10K"
				}
			}
			paths, written = append(paths, path), append(written, some(" ", 2)+text+some(" ", 2))
			line := "cmd"
			for range r.IntN(4) {
				line += []string{" ", ""}[r.IntN(2)] + []string{
					`'` + some(`ab,"\ `, 6) + `'`, `"` + some(`ab,' `, 6) + `\"` + some(`,a`, 3) + `"`, `\,`, `\'`, some("ab $;", 5) + "x",
				}[r.IntN(5)]
			}
			lines = append(lines, line)
		}
		if got, err := AttributeNamed("validate").Split(strings.Join(written, ",")); err != nil || !slices.Equal(got, paths) {
			t.Fatalf("paths %q\nread as %q, %v", written, got, err)
		}
		if got, err := AttributeNamed("agenda_preflights").Split(strings.Join(lines, ", ")); err != nil || !slices.Equal(got, lines) {
			t.Fatalf("lines %q\nread as %q, %v", lines, got, err)
		}
		if got := AttributeNamed("validate").Stored(paths); !slices.Equal(got.([]string), paths) {
			t.Fatalf("the list %q is stored as %q", paths, got)
		}
	}
}

// TestListsThatAreNone: a quote that is not closed is refused with its place, and what needs no quotes is read as it always was.
func TestListsThatAreNone(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"validate", `a,"b,c`, "column 3"}, {"validate", `''`, "quotes with nothing"}, {"preflights", `echo it's,b`, "column 1"}, {"preflights", `a,echo "b,c`, "column 3"},
		{"pathmap", `"/a`, "column 1"},
	} {
		if _, err := AttributeNamed(c.name).Split(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.name, c.text, err)
		}
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"validate", "it's.png, b.png,,", []string{"it's.png", "b.png"}}, {"validate", `"a,b.png":10K`, []string{"a,b.png:10K"}},
		{"preflights", "a, b ,c", []string{"a", "b", "c"}}, {"agenda_preflights", `awk '{print $1,$2}' f,true`, []string{`awk '{print $1,$2}' f`, "true"}},
		{"hosts", `a,"b,c"`, []string{"a", `"b`, `c"`}}, {"pathmap", `"/a,b=/c",P:=/p`, []string{"/a,b=/c", "P:=/p"}},
	} {
		if got, err := AttributeNamed(c.name).Split(c.text); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q, %v", c.name, c.text, got, err)
		}
	}
}
