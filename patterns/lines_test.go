package patterns

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However output is cut into pieces, its lines are the same, each no longer than the limit.
func TestLines(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var text strings.Builder
		var want []string
		for range rapid.IntRange(0, 5).Draw(r, "lines") {
			line := strings.Repeat(rapid.SampledFrom([]string{"", "a", "no licence", "é"}).Draw(r, "word"), rapid.SampledFrom([]int{1, 3, MaxLine, 2 * MaxLine}).Draw(r, "times"))
			text.WriteString(line + rapid.SampledFrom([]string{"\n", "\r", "\r\n"}).Draw(r, "end"))
			if line != "" {
				want = append(want, line[:min(len(line), MaxLine)])
			}
		}
		if rapid.Bool().Draw(r, "unended") {
			text.WriteString("rest")
			want = append(want, "rest")
		}
		var got []string
		l := Lines{Take: func(line []byte) { got = append(got, string(line)) }}
		for rest := []byte(text.String()); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "piece")
			l.Write(1, rest[:n])
			rest = rest[n:]
		}
		l.End()
		if !slices.Equal(got, want) {
			r.Fatalf("%.60q, want %.60q", got, want)
		}
	})
}

// Two streams do not run into each other.
func TestStreams(t *testing.T) {
	var got []string
	l := Lines{Take: func(line []byte) { got = append(got, string(line)) }}
	l.Write(1, []byte("no lic"))
	l.Write(2, []byte("error\n"))
	l.Write(1, []byte("ence\n"))
	l.End()
	if want := []string{"error", "no licence"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestCompile(t *testing.T) {
	for text, good := range map[string]bool{"licen[cs]e": true, "(": false, strings.Repeat("a", MaxLength+1): false, `(a)\1`: false, "(a*)*b": true} {
		if _, err := Compile(text); (err == nil) != good {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}
