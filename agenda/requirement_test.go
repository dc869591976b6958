package agenda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var testProperties = []Property{
	{"host.os", KindText}, {"host.name", KindText}, {"host.cluster", KindText}, {"host.groups", KindList},
	{"host.jobtypes", KindList}, {"host.processor_speed", KindNumber}, {"host.processors.used", KindNumber},
	{"host.processors.total", KindNumber}, {"host.memory", KindSize}, {"host.memory.avail", KindSize},
	{"host.flag.*", KindFlag}, {"host.duty.*", KindList}, {"host.maya_version", KindText},
	{"job.id", KindNumber}, {"job.kind", KindText}, {"job.cluster", KindText}, {"job.flag.*", KindFlag},
}

// String is the requirement in one way of writing that reads back as the same.
func (r *Requirement) String() string {
	if len(r.all.parts) == 1 {
		return r.all.parts[0].String()
	}
	return r.all.String()
}

// aHost looks up a host that lacks host.maya_version unless with adds it.
func aHost(with map[string]Value) Lookup {
	values := map[string]Value{
		"host.os": TextValue("linux"), "host.name": TextValue("render-01"), "host.cluster": TextValue("/vfx/char"),
		"host.groups": ListValue([]string{"farm", "nuke"}), "host.jobtypes": ListValue([]string{"cmdrange", "maya"}),
		"host.processor_speed": NumberValue(3200), "host.processors.used": NumberValue(0), "host.processors.total": NumberValue(16),
		"host.memory": SizeValue(16 << 30), "host.memory.avail": SizeValue(2000 << 20),
		"host.flag.gpu": FlagValue(true), "host.flag.remote": FlagValue(false),
		"host.duty.id": ListValue([]string{"7", "9"}), "host.duty.kind": ListValue(nil),
		"job.id": NumberValue(9), "job.kind": TextValue("sim"), "job.cluster": TextValue("/vfx/char"),
	}
	return func(name string) (Value, bool) {
		if v, ok := with[name]; ok {
			return v, true
		}
		v, ok := values[name]
		return v, ok
	}
}

func TestRequirements(t *testing.T) {
	for _, c := range []struct {
		text, canonical string
		holds           bool
	}{
		{"", "", true},
		{" \t", "", true},
		{"host.os=linux and host.memory>4000", "host.os = linux and host.memory > 4000MiB", true},
		{"host.memory.avail > 2000", "host.memory.avail > 2000MiB", false},
		{"host.memory.avail >= 2000", "host.memory.avail >= 2000MiB", true},
		{"host.memory.avail < 2GB", "host.memory.avail < 2GiB", true},
		{"4GB <= host.memory", "4GiB <= host.memory", true},
		{"host.os == 'linux'", "host.os = linux", true},
		{"host.os eq windows", "host.os = windows", false},
		{"host.os ne windows", "host.os != windows", true},
		{"host.processors.used=0", "host.processors.used = 0", true},
		{"host.processors.total ge 16 && host.processors.total le 16", "host.processors.total >= 16 and host.processors.total <= 16", true},
		{"host.processors.total lt 16 || host.processors.total gt 16", "host.processors.total < 16 or host.processors.total > 16", false},
		{"not (job.id in host.duty.id)", "not job.id in host.duty.id", false},
		{"not(job.kind in host.duty.kind)", "not job.kind in host.duty.kind", true},
		{`"maya" in host.jobtypes`, "maya in host.jobtypes", true},
		{"host.groups has nuke", "host.groups has nuke", true},
		{"host.groups has flame", "host.groups has flame", false},
		{"host.name in render-01,render-02", "host.name in render-01,render-02", true},
		{`host.name in "a, render-01"`, `host.name in "a, render-01"`, true},
		{"job.id in 1,9", "job.id in 1,9", true},
		{"host.cluster = job.cluster", "host.cluster = job.cluster", true},
		{"host.cluster=/vfx/char", "host.cluster = /vfx/char", true},
		{"host.flag.gpu", "host.flag.gpu", true},
		{"!host.flag.remote", "not host.flag.remote", true},
		{"host.flag.gpu = yes and host.flag.remote = 0", "host.flag.gpu = true and host.flag.remote = false", true},
		{"host.flag.unheard", "host.flag.unheard", false},
		{"AND_x = host.os", "AND_x = host.os", false},
		{"host.os = linux OR host.os = windows AND host.processors.used = 5", "host.os = linux or host.os = windows and host.processors.used = 5", true},
		{"(host.os = linux or host.os = windows) and host.processors.used = 5", "(host.os = linux or host.os = windows) and host.processors.used = 5", false},
		{"(host.os = a and (host.os = b)) and host.os = c", "host.os = a and host.os = b and host.os = c", false},
		{"not (host.os = a or host.os = b)", "not (host.os = a or host.os = b)", true},
		{"not not host.flag.gpu", "not not host.flag.gpu", true},
		{"host.maya_version >= 2024", "host.maya_version >= 2024", false}, // not set
		{"host.maya_version != 2024", "host.maya_version != 2024", true},
		{"host.os >= 5", "host.os >= 5", false}, // a word and a number have no order
		{"host.os > lin", "host.os > lin", true},
		{`host.os = "and"`, `host.os = "and"`, false},
		{`host.os = "it's \"C:\\x\""`, `host.os = "it's \"C:\\x\""`, false},
		{`host.os = 'C:\tools'`, `host.os = C:\tools`, false},
		{`host.os = "host.os"`, `host.os = "host.os"`, false},
		{`host.os = ""`, `host.os = ""`, false},
		{"host.processor_speed > -1.5", "host.processor_speed > -1.5", true},
	} {
		r, err := ParseRequirement(c.text, testProperties)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := r.String(); got != c.canonical {
			t.Errorf("%s: canonical %s, want %s", c.text, got, c.canonical)
		}
		if got := r.Holds(aHost(nil)); got != c.holds {
			t.Errorf("%s: holds %v, want %v", c.text, got, c.holds)
		}
	}
}

func TestVersionsCompareAsNumbers(t *testing.T) {
	for _, c := range []struct {
		version, text string
		holds         bool
	}{
		{"2024.1", "host.maya_version >= 2024", true},
		{"900", "host.maya_version >= 2024", false},
		{"2024", "host.maya_version = 2024", true},
		{"1.10", "host.maya_version = 1.1", false},
		{"beta", "host.maya_version < 2024", false},
		{"2024", "host.maya_version = job.id", false},
		{"9", "host.maya_version = job.id", true},
		{"a,9", "job.id in host.maya_version", true},
	} {
		r, err := ParseRequirement(c.text, testProperties)
		if err != nil {
			t.Fatal(err)
		}
		host := aHost(map[string]Value{"host.maya_version": TextValue(c.version)})
		if got := r.Holds(host); got != c.holds {
			t.Errorf("version %s: %s holds %v", c.version, c.text, got)
		}
	}
}

func TestRequirementsRefused(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		want   string
	}{
		{"host.oss = linux", 1, "there is no property \"host.oss\"; did you mean host.os?"},
		{"host.os = linux and host.procesors.usd = 0", 21, "did you mean host.processors.used?"},
		{"host.processors = 1", 1, "; there is host.processors.total, host.processors.used"},
		{"host.flag.a.b", 1, "there is no property"},
		{"job.zzz = 1", 1, `there is no property "job.zzz" (quote it`},
		{"os = linux", 1, `"os" is not a property; did you mean host.os?`},
		{"linux = os", 9, `"os" is not a property; did you mean host.os?`},
		{"5 < memory.totl", 5, `"memory.totl" is not a property; properties begin with host. or job.`},
		{"1 = 1", 1, `"1" and "1" are both values; compare a property with a value; properties begin with host. or job.`},
		{"linux", 1, `"linux" is not a condition; write one`},
		{"os", 1, "did you mean host.os?"},
		{"host.os", 1, "host.os is not true or false; compare it with something, as in host.os = …"},
		{"host.os equals linux", 9, `"equals" is not an operator; write =, !=`},
		{"host.os =", 10, "a value after = is missing at the end"},
		{"host.os = and host.flag.gpu", 11, `a value after = is missing before "and"`},
		{"= linux", 1, "is missing before"},
		{"host.os = linux and", 20, "a condition such as host.os = linux is missing at the end"},
		{"(host.os = linux", 1, "this parenthesis is never closed"},
		{"(host.os = linux host.os = a)", 18, `"host.os" is not expected here; close the parenthesis`},
		{"host.os = linux)", 16, "this parenthesis was never opened"},
		{"()", 2, "is missing before"},
		{"host.os = linux adn host.flag.gpu", 17, `"adn" is not expected here; did you mean and?`},
		{"host.os = linux (host.flag.gpu)", 17, "is not expected here"},
		{"host.os = mac os", 15, "quote text with blanks"},
		{"1 < host.processors.used < 5", 26, "a comparison has two sides only"},
		{"host.os = 'linux", 11, "the quoted text does not end; close it with '"},
		{"host.os = \xff", 1, "the text is not valid UTF-8"},
		{"host.os = \x00", 1, "holds a NUL byte"},
		{"host.os <> linux", 9, "<> is not an operator here"},
		{"host.os = a & host.os = b", 11, `"a" is neither a number nor a size, and & needs one; conditions are joined with and or or`},
		{"host.os =< a", 9, "=< is not an operator here"},
		{"host.processors.used > 4GB", 24, `host.processors.used is a number, and "4GB" is not`},
		{"host.processors.used > 1e5", 24, "write a number without a unit"},
		{"host.memory > lots", 15, `"lots" is no size; write 4GiB`},
		{"host.memory > -4GB", 15, "is negative"},
		{"host.memory > 9PB", 15, "more than 8PiB"},
		{"host.memory = job.id", 13, "host.memory is a size and job.id is a number; they cannot be compared"},
		{"host.groups = farm", 1, "host.groups is a list; write host.groups has …"},
		{"host.memory has 5", 1, "host.memory is a size, not a list"},
		{"farm in job.id", 9, "job.id is a number, not a list"},
		{"host.groups in host.jobtypes", 1, "host.groups is a list and cannot be looked for"},
		{"host.flag.gpu > 0", 15, "has no order"},
		{"host.flag.gpu = maybe", 17, `host.flag.gpu is true or false, and "maybe" is neither`},
		{strings.Repeat("(", 65) + "host.flag.gpu" + strings.Repeat(")", 65), 65, "nested more than 64 deep"},
		{strings.Repeat("not ", 1000) + "host.flag.gpu", 257, "nested more than 64 deep"},
		{strings.Repeat("x", 17<<10), 1, "the text has 17408 bytes, more than 16384"},
	} {
		_, err := ParseRequirement(c.text, testProperties)
		var mistake *SyntaxError
		if !errors.As(err, &mistake) {
			t.Errorf("%.60s: %v, want %s", c.text, err, c.want)
			continue
		}
		if mistake.Column != c.column || !strings.Contains(mistake.Reason, c.want) {
			t.Errorf("%.60s: %v\nwant column %d: %s", c.text, err, c.column, c.want)
		}
		if len(err.Error()) > 700 {
			t.Errorf("%.60s: the error has %d bytes", c.text, len(err.Error()))
		}
	}
}

func TestErrorPointsAtTheColumn(t *testing.T) {
	long := strings.Repeat("host.os = a or ", 10)
	for _, c := range []struct{ text, want string }{
		{"host.os = linux and host.nam = a", `requirements, column 21: there is no property "host.nam"; did you mean host.name? (quote it if it is text)
  host.os = linux and host.nam = a
                      ^`},
		{"host.os = 'ü\n\x1b[31m' and x", `requirements, column 25: "x" is not a condition; write one such as host.os = linux
  host.os = 'ü··[31m' and x
                          ^`},
		{long + "x or " + long + "host.flag.gpu", `requirements, column 151: "x" is not a condition; write one such as host.os = linux
  …host.os = a or host.os = a or host.os = a or host.os = a or x or host.os = a or host.os = …
                                                               ^`},
	} {
		_, err := ParseRequirement(c.text, testProperties)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v\nwant\n%s", c.text, err, c.want)
		}
	}
}

func TestFailingClauses(t *testing.T) {
	r, err := ParseRequirement(
		"host.os=linux and host.memory.avail>4000 and (host.groups has flame or host.flag.x) and host.maya_version=1 and not job.id in host.duty.id", testProperties)
	if err != nil {
		t.Fatal(err)
	}
	want := []Failure{
		{1, "host.memory.avail > 4000MiB", "host.memory.avail is 2000MiB"},
		{2, "host.groups has flame or host.flag.x", "host.groups is farm,nuke, host.flag.x is not set"},
		{3, "host.maya_version = 1", "host.maya_version is not set"},
		{4, "not job.id in host.duty.id", "job.id is 9, host.duty.id is 7,9"},
	}
	if diff := cmp.Diff(want, r.Failing(aHost(nil))); diff != "" {
		t.Error(diff)
	}
	clauses := []string{"host.os = linux", want[0].Text, want[1].Text, want[2].Text, want[3].Text}
	if diff := cmp.Diff(clauses, r.Clauses()); diff != "" {
		t.Error(diff)
	}
	used := []string{"host.os", "host.memory.avail", "host.groups", "host.flag.x", "host.maya_version", "job.id", "host.duty.id"}
	if diff := cmp.Diff(used, r.Properties()); diff != "" {
		t.Error(diff)
	}
}

// drawCondition is a random requirement, and what it must say of aHost, worked out beside the parser.
func drawCondition(t *rapid.T, depth int) (text string, holds bool) {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		name := rapid.SampledFrom([]string{"linux", "mac os", "and", `a"b\`, "'", "host.x", "5", "ü"}).Draw(t, "os")
		return fmt.Sprintf(`host.os %s "%s"`, rapid.SampledFrom([]string{"=", "==", "eq"}).Draw(t, "sign"),
			strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(name)), name == "linux"
	case 1:
		n := rapid.IntRange(14, 18).Draw(t, "processors")
		return fmt.Sprintf("host.processors.total>=%d", n), 16 >= n
	case 2:
		mb := rapid.IntRange(16000, 17000).Draw(t, "memory")
		return fmt.Sprintf("%d < host.memory", mb), int64(mb)<<20 < 16<<30
	case 3:
		flag := rapid.SampledFrom([]string{"gpu", "remote", "other"}).Draw(t, "flag")
		return "host.flag." + flag, flag == "gpu"
	case 4:
		inner, holds := drawCondition(t, depth-1)
		return rapid.SampledFrom([]string{"not ", "!", " NOT\n"}).Draw(t, "not") + "(" + inner + ")", !holds
	}
	left, l := drawCondition(t, depth-1)
	right, r := drawCondition(t, depth-1)
	if kind == 5 {
		return "(" + left + ")" + rapid.SampledFrom([]string{" and ", "&&"}).Draw(t, "and") + "(" + right + ")", l && r
	}
	return "(" + left + ")" + rapid.SampledFrom([]string{" or ", "||"}).Draw(t, "or") + "(" + right + ")", l || r
}

func TestRequirementProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, holds := drawCondition(t, 4)
		r, err := ParseRequirement(text, testProperties)
		if err != nil {
			t.Fatal(err)
		}
		checkRequirement(t, r)
		if r.Holds(aHost(nil)) != holds {
			t.Fatalf("%s: holds %v, want %v", text, !holds, holds)
		}
	})
}

// checkRequirement says what is true of every requirement.
func checkRequirement(t interface{ Fatalf(string, ...any) }, r *Requirement) {
	again, err := ParseRequirement(r.String(), testProperties)
	if err != nil {
		t.Fatalf("it is written %s, which is refused: %v", r, err)
	}
	if again.String() != r.String() || !slices.Equal(again.Clauses(), r.Clauses()) || !slices.Equal(again.Properties(), r.Properties()) {
		t.Fatalf("it is written %s, which reads as %s", r, again)
	}
	host := aHost(nil)
	if again.Holds(host) != r.Holds(host) || r.Holds(host) != (len(r.Failing(host)) == 0) {
		t.Fatalf("%s and its reading, or its clauses, disagree", r)
	}
}

func FuzzRequirement(f *testing.F) {
	for _, seed := range []string{
		"", "host.os=linux and host.memory>4000", "not (job.id in host.duty.id)", `"maya" in host.jobtypes`, "host.processors.used=0",
		"host.flag.gpu||!host.flag.remote&&host.groups has nuke", "host.memory>=1.5TiB", "((((host.flag.x))))", "host.os='it''s", `host.os = "\\\""`,
		"host.os <> 5", "1<2<3", "host.oss = 1", "in in in", "has", "(host.processors.used add 1) mul 2 <= 8 min job.id", "host.memory div 2GB>>1|3&1<1<<2 xor 5 mod 0", "((host.memory) = 4 sub 1)", "! ! !", "host.processor_speed = -0", "host.name in ,", "host.os = \xff\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRequirement(text, testProperties)
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if len(r.String()) <= maxRequirement {
			checkRequirement(t, r)
		}
	})
}

func BenchmarkRequirementHolds(b *testing.B) {
	r, err := ParseRequirement("host.os=linux and host.memory>4000 and host.groups has nuke", testProperties)
	if err != nil {
		b.Fatal(err)
	}
	host := aHost(nil)
	b.ReportAllocs()
	for b.Loop() {
		if !r.Holds(host) {
			b.Fatal("does not hold")
		}
	}
}
