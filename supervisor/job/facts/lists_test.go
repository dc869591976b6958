package facts

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestListsAgainstEntries: whatever entries, however they are quoted, a list that is read gives the entries that were
// written. Paths get quotes around them where a comma or a quote begins a doubt, lines for a shell keep the quotes that
// they have.
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

// TestListsOfAllClients: testdata/lists.json has lists with what is read of them. The clients for Python and the page
// have readers of their own, which are compared with it, too.
func TestListsOfAllClients(t *testing.T) {
	data, err := os.ReadFile("testdata/lists.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Quotes, Text string
		Entries      []string
		Refused      bool
	}
	if err := json.Unmarshal(data, &all); err != nil || len(all) < 10 {
		t.Fatal(len(all), err)
	}
	for _, c := range all {
		name := map[string]string{"shell": "agenda_preflights", "around": "validate"}[c.Quotes]
		got, err := AttributeNamed(name).Split(c.Text)
		if (err != nil) != c.Refused || !slices.Equal(got, c.Entries) {
			t.Errorf("%s: %q, %v", c.Text, got, err)
		}
	}
	_, err = AttributeNamed("preflights").Split("a,echo 'b,c")
	if err == nil || !strings.Contains(err.Error(), "column 3") {
		t.Error(err)
	}
	if got, _ := AttributeNamed("hosts").Split(`a,"b,c"`); !slices.Equal(got, []string{"a", `"b`, `c"`}) {
		t.Errorf("names of hosts have no quotes: %q", got)
	}
}
