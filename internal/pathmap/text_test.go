package pathmap

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

var towards = []string{"/vol/proj=/mnt/proj", "/Volumes/My Show=/mnt/my show", "P:=/mnt/p", "//srv/proj=/mnt/$srv (2)", "Q:/a&b=/mnt/q"}

// somePath is a path below a FROM, of parts that have any of some signs, and what it is mapped to.
func somePath(r *rand.Rand, m Map, signs string) (path, want string) {
	path = []string{"/vol/proj", "/Volumes/My Show", "P:", "p:", `\\srv\proj`, `\\SRV\Proj`, `Q:\a&b`}[r.IntN(7)]
	sep := "/"
	if windows(cleaned(path)) {
		sep = `\`
	}
	for range r.IntN(4) {
		path += sep
		for range 1 + r.IntN(5) {
			path += string(signs[r.IntN(len(signs))])
		}
		path += "z"
	}
	want, _ = m.Path(path) // none of these maps leads to Windows
	return path, want
}

func wordOf(t *testing.T, m Map, text string) string {
	t.Helper()
	got, err := m.Word(text, 1<<20, &Budget{Steps: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestWordsArePathsToTheirEnd: a word or a variable that is a path, an option with one, or a list of them, is mapped as
// the path is, whatever signs it has.
func TestWordsArePathsToTheirEnd(t *testing.T) {
	m, err := New(towards)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(4, 4))
	const signs = "ab .'\"&()[]{}$`!#~%,=+@-é"
	for range 5000 {
		one, wantOne := somePath(r, m, signs)
		two, wantTwo := somePath(r, m, signs)
		sign := []string{":", ";"}[r.IntN(2)]
		if strings.HasPrefix(two, `\\`) {
			sign = ";" // a: before two slashes is a URL
		}
		for _, c := range []struct{ text, want string }{
			{one, wantOne}, {"-proj=" + one, "-proj=" + wantOne}, {"--a.b=" + one, "--a.b=" + wantOne},
			{one + sign + two, wantOne + sign + wantTwo}, {".;" + one + ";" + two, ".;" + wantOne + ";" + wantTwo}, {one + `;C:\x y\z`, wantOne + `;C:\x y\z`},
		} {
			if got := wordOf(t, m, c.text); got != c.want {
				t.Fatalf("%s\nis mapped to %s\nwant %s", c.text, got, c.want)
			}
		}
	}
	for _, text := range []string{"p: 5", "/vol/proj.x/a", "step p:5", "http://srv/proj/x", "p:5"} {
		if got := wordOf(t, m, text); got != text {
			t.Errorf("%s is no path, and becomes %s", text, got)
		}
	}
}

// TestLinesAgainstTheShell: of a mapped line a shell makes the words that it would make of the line with mapped paths,
// however these are quoted and whatever is around them.
func TestLinesAgainstTheShell(t *testing.T) {
	m, err := New(towards)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	var script strings.Builder
	var lines, wants []string
	for range 1500 {
		line, want := "printf '<%s>'", ""
		for range 1 + r.IntN(3) {
			var text, mapped string
			switch r.IntN(5) {
			case 0:
				text, mapped = somePath(r, m, "ab .\"&()[]{}$`!#~%,=+@-")
				text = "'" + text + "'"
			case 1:
				text, mapped = somePath(r, m, "ab .'&()[]{}!#~%,=+@-")
				text = `"` + text + `"`
			case 2:
				text, mapped = somePath(r, m, "ab .&()',=+@-")
				text = strings.NewReplacer(" ", `\ `, "&", `\&`, "(", `\(`, ")", `\)`, "'", `\'`).Replace(text)
			case 3:
				text, mapped = somePath(r, m, "ab .&(),=+@-")
				text, mapped = "--out='"+text+"'", "--out="+mapped
			case 4:
				text = []string{`'a b'`, `"x\"y"`, `p\:`, `'p: 5'`, `"p:\""`, "http://srv/proj"}[r.IntN(6)]
				mapped = map[string]string{`'a b'`: "a b", `"x\"y"`: `x"y`, `p\:`: "p:", `'p: 5'`: "p: 5", `"p:\""`: `/mnt/p"`, "http://srv/proj": "http://srv/proj"}[text]
			}
			line += " " + text
			want += "<" + mapped + ">"
		}
		got, err := m.Line(line, 1<<20, &Budget{Steps: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		script.WriteString(got + "\necho\n")
		lines, wants = append(lines, line+"\n"+got), append(wants, want)
	}
	out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", script.String()).CombinedOutput()
	made := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	for n := range made {
		if n < len(wants) && made[n] != wants[n] {
			t.Fatalf("%s\ngives %s\nwant  %s", lines[n], made[n], wants[n])
		}
	}
	if err != nil || len(made) != len(wants) {
		t.Fatalf("%d lines of %d, %v", len(made), len(wants), err)
	}
}
