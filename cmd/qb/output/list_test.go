package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"beauty": "beauty", "größer 日本": "größer 日本", "a\nb\tc": `a\nb\tc`, "\x1b[2Jx": `\x1b[2Jx`,
		"bad\xff": `bad\xff`, "a\u202eb": `a\u202eb`, `C:\new`: `C:\new`, "del\x7f": `del\x7f`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add("a\x1b[31m\n\xff\u202e")
	f.Add("日本 größer ~\x7f")
	f.Fuzz(func(t *testing.T, s string) {
		if got := Escape(s); strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Errorf("escape(%q) = %q still has control characters", s, got)
		} else if width(got) != lipgloss.Width(got) {
			t.Errorf("%q takes %d cells, not %d", got, lipgloss.Width(got), width(got))
		}
	})
}

type row struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

var rowColumns = []Column[row]{
	{Name: "name"},
	{Name: "n", Right: true},
	{Name: "twice", Extra: true, Text: func(r row) string { return strconv.Itoa(2 * r.N) }},
}

func listed(t *testing.T, o ListOptions, rows ...row) string {
	t.Helper()
	var out strings.Builder
	l, err := NewLister(PartialOutput{&out}, "", o, rowColumns)
	if err != nil {
		return err.Error()
	}
	if err := l.Add(rows...); err != nil {
		return err.Error()
	}
	if err := l.End(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestLister(t *testing.T) {
	rows := []row{{"日本", 7}, {"a\x1b[2J", 1234}, {"", 1}}
	for _, test := range []struct {
		options ListOptions
		rows    []row
		want    string
	}{
		{ListOptions{}, rows, "name         n\n日本         7\na\\x1b[2J  1234\n-            1\n"},
		{ListOptions{noHeaders: true}, rows[:1], "日本  7\n"},
		{ListOptions{fields: "twice, name"}, rows[:1], "twice  name\n14     日本\n"},
		{ListOptions{fields: "nam"}, nil, `-fields: no field "nam"; did you mean name?; there are name, n, twice`},
		{ListOptions{}, nil, ""},
		{ListOptions{JSON: true}, nil, "[]\n"},
		{ListOptions{JSON: true}, rows[1:], "[\n{\"name\":\"a\\u001b[2J\",\"n\":1234},\n{\"name\":\"\",\"n\":1}\n]\n"},
		{ListOptions{JSON: true, fields: "n"}, rows[:1], "[\n{\"n\":7}\n]\n"},
		{ListOptions{long: true}, rows[1:], "name   a\\x1b[2J\nn      1234\ntwice  2468\n\nn      1\ntwice  2\n"},
		{ListOptions{long: true, fields: "n"}, rows[:1], "n  7\n"},
		{ListOptions{long: true}, nil, ""},
		{ListOptions{long: true, JSON: true}, nil, "-long and -json exclude each other; give one"},
		{ListOptions{XML: true, delimit: ";"}, nil, "-xml and -delimit exclude each other; give one"},
		{ListOptions{sortBy: "n"}, rows[:2], "name         n\n日本         7\na\\x1b[2J  1234\n"},
		{ListOptions{sortBy: "n", reverse: true, fields: "n"}, rows, "   n\n1234\n   7\n   1\n"},
		{ListOptions{reverse: true, fields: "n", JSON: true}, rows, "[\n{\"n\":1},\n{\"n\":1234},\n{\"n\":7}\n]\n"},
		{ListOptions{sortBy: "twise"}, nil, `-sortby: no field "twise"; did you mean twice?; there are name, n, twice`},
		{ListOptions{delimit: ";"}, []row{{"a;b", 1}, {"", 2}, {"\x1b", 3}}, "name;n\na\\x3bb;1\n;2\n\\x1b;3\n"},
		{ListOptions{delimit: "→", noHeaders: true}, []row{{"a→b", 1}}, "a\\u2192b→1\n"},
		{ListOptions{delimit: "ab"}, nil, `-delimit "ab": give one character, such as ';' or a tab, and no letter, digit or backslash`},
		{ListOptions{delimit: "\n"}, nil, `-delimit "\n": give one character, such as ';' or a tab, and no letter, digit or backslash`},
		{ListOptions{XML: true}, []row{{"<a&\x00\"", 1}, {"b", 2}}, xmlHead + "<list>\n<object><name>&lt;a&amp;\uFFFD&#34;</name><n>1</n></object>\n" +
			"<object><name>b</name><n>2</n></object>\n</list>\n"},
		{ListOptions{XML: true, fields: "n"}, rows[:1], xmlHead + "<list>\n<object><n>7</n></object>\n</list>\n"},
		{ListOptions{XML: true}, nil, xmlHead + "<list/>\n"},
	} {
		if got := listed(t, test.options, test.rows...); got != test.want {
			t.Errorf("%+v prints\n%q, want\n%q", test.options, got, test.want)
		}
	}
}

// More rows than the sample keep streaming with the widths of the sample.
func TestListerStreams(t *testing.T) {
	rows := make([]row, sampleRows+5)
	got := strings.Count(listed(t, ListOptions{}, rows...), "\n")
	if got != sampleRows+6 {
		t.Errorf("%d lines for %d rows and a heading", got, sampleRows+5)
	}
	var all []row
	if err := json.Unmarshal([]byte(listed(t, ListOptions{JSON: true}, rows...)), &all); err != nil || len(all) != len(rows) {
		t.Errorf("%d rows came back, %v", len(all), err)
	}
}

func TestSuggest(t *testing.T) {
	words := []string{"cpus", "cluster", "priority", "max_cpus"}
	for word, want := range map[string]string{"cpuz": "cpus", "pirority": "priority", "xyz": "", "": "", "mxa_cpus": "max_cpus"} {
		if want != "" {
			want = "; did you mean -" + want + "?"
		}
		if got := DidYouMean("-", word, words); got != want {
			t.Errorf("didYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for got, want := range map[string]string{
		Span(1500 * time.Millisecond): "1.5s", Span(90 * time.Second): "1m30s", Span(26*time.Hour + 61*time.Second): "26h01m",
		Span(0): "0.0s", Span(9960 * time.Millisecond): "10.0s", Span(59 * time.Second): "59s", Span(5*time.Minute + 7*time.Second): "5m07s",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A column writes its member by its kind; what is null, or not in a map, is empty.
func TestColumnOf(t *testing.T) {
	type inner struct {
		Ratio float64           `json:"ratio"`
		Tags  map[string]string `json:"tags"`
	}
	type outer struct {
		In   inner      `json:"in"`
		On   bool       `json:"on"`
		Host *string    `json:"host"`
		At   *time.Time `json:"at"`
		List []string   `json:"list"`
	}
	host := "rn01"
	full := outer{In: inner{Ratio: 0.5, Tags: map[string]string{"show": "x"}}, On: true, Host: &host, List: []string{"a", "b"}}
	for _, test := range []struct {
		column      Column[outer]
		full, empty string
	}{
		{Column[outer]{Name: "on"}, "true", "false"},
		{Column[outer]{Name: "host"}, "rn01", ""},
		{Column[outer]{Name: "at"}, "", ""},
		{Column[outer]{Name: "list"}, "a,b", ""},
		{Column[outer]{Name: "ratio", Member: "in.ratio"}, "0.5", "0"},
		{Column[outer]{Name: "ratio", Member: "in.ratio", Number: Seconds}, "0.5s", ""},
		{Column[outer]{Name: "show", Member: "in.tags.show"}, "x", ""},
	} {
		if got, none := test.column.Of(full), test.column.Of(outer{}); got != test.full || none != test.empty {
			t.Errorf("%s %s: %q and %q, want %q and %q", test.column.Name, test.column.Member, got, none, test.full, test.empty)
		}
	}
}

// A line of totals is above delimited rows, unless there is no heading.
func TestTotal(t *testing.T) {
	for o, want := range map[*ListOptions]string{
		{delimit: ";"}:                  "total: 2 rows   all\nname;n\na;1\nb;2\n",
		{delimit: ";", noHeaders: true}: "a;1\nb;2\n",
		{}:                              "name  n\na     1\nb     2\n",
	} {
		var out strings.Builder
		l, err := NewLister(PartialOutput{&out}, "", *o, rowColumns)
		if err != nil {
			t.Fatal(err)
		}
		l.Total(func(rows []row) []string { return []string{strconv.Itoa(len(rows)) + " rows", "all"} })
		if err := errors.Join(l.Add(row{"a", 1}, row{"b", 2}), l.End()); err != nil || out.String() != want {
			t.Errorf("%+v: %q, %v; want %q", *o, out.String(), err, want)
		}
	}
}

// What is written as XML is read back, whatever the names and texts are.
func FuzzXML(f *testing.F) {
	f.Add("name", "<a>&\x00\xff]]>\ufffe\"'")
	f.Add("host.memory total", "")
	f.Add("\"><x", "x")
	f.Add("n", "a\nb\\nc\r\n\td\u0085\u202ee\x1b[0m\x7f")
	f.Fuzz(func(t *testing.T, name, text string) {
		object, err := EncodeJSON(map[string]any{name: []any{text, nil, 1.5, map[string]string{name: text}}})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := writeXML(&b, object); err != nil {
			t.Fatal(err)
		}
		var read struct {
			Members []struct {
				Items []string `xml:"item"`
			} `xml:",any"`
		}
		if err := xml.Unmarshal(b.Bytes(), &read); err != nil || len(read.Members) != 1 || len(read.Members[0].Items) != 4 {
			t.Fatalf("%q: %v, %+v", b.String(), err, read)
		}
		want := strings.Map(func(r rune) rune {
			if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
				return '\uFFFD'
			}
			return r
		}, text)
		if got := read.Members[0].Items[0]; utf8.ValidString(text) && got != want {
			t.Errorf("%q comes back as %q", text, got)
		}
	})
}

// Rows are sorted by the values of members, and by texts as a person would.
func TestOrder(t *testing.T) {
	type thing struct {
		Size int64      `json:"size"`
		Name string     `json:"name"`
		At   *time.Time `json:"at"`
	}
	early, late := time.Unix(1, 0), time.Unix(1000, 0)
	things := []thing{{9 << 30, "w10", &late}, {10 << 20, "w2", nil}, {-1, "w02", &early}}
	for name, want := range map[string]string{"size": "w02 w2 w10", "name": "w02 w2 w10", "at": "w2 w02 w10", "text": "w2 w10 w02"} {
		columns := []Column[thing]{{Name: "size", Number: Size}, {Name: "name"}, {Name: "at"}, {Name: "text", Text: func(t thing) string { return strconv.Itoa(len(t.Name)) }}}
		l, err := NewLister(PartialOutput{io.Discard}, "", ListOptions{sortBy: name}, columns)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range l.ordered(things) {
			got = append(got, x.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("-sortby %s: %s, want %s", name, got, want)
		}
	}
}

// apart takes what a command prints and what it remarks.
type apart struct{ out, err strings.Builder }

func (a *apart) OutOrStdout() io.Writer { return &a.out }
func (a *apart) ErrOrStderr() io.Writer { return &a.err }

// TestEmptyListing: a listing without rows says on stderr, and nowhere else, what there is none of, unless a program
// reads it. With rows it says nothing there.
func TestEmptyListing(t *testing.T) {
	for n, o := range []ListOptions{{}, {noHeaders: true}, {delimit: ";"}, {fields: "n"}, {sortBy: "n"}, {long: true}, {JSON: true}, {XML: true}} {
		for _, rows := range [][]row{nil, {{Name: "a"}}} {
			var to apart
			if err := Print(&to, "no \x1b rows", o, rowColumns, Rows(rows)); err != nil {
				t.Fatal(err)
			}
			want := ""
			if rows == nil && !o.Whole() {
				want = `no \x1b rows` + "\n"
			}
			if to.err.String() != want || (rows == nil && !o.Whole()) != (to.out.Len() == 0) {
				t.Errorf("%d, %d rows: %q, %q", n, len(rows), to.out.String(), to.err.String())
			}
		}
	}
}
