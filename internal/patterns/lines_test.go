package patterns

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// whole puts the parts of each line together again.
func whole(got *[]string) func(Piece) {
	return func(p Piece) {
		text := p.Text
		if p.Later {
			text = text[context+MaxLine/2:]
		} else {
			*got = append(*got, "")
		}
		(*got)[len(*got)-1] += string(text)
	}
}

// dressed writes lines as programs do that mean the same text: in pieces of colour, behind byte order marks, in UTF-16,
// with NULs.
func dressed(r *rapid.T, lines []string) []byte {
	ends := rapid.SampledFrom([]string{"\n", "\r", "\r\n", "\b\b\b", "\n\r\n"})
	sequences := rapid.SampledFrom([]string{"", "", "\x1b[0m", "\x1b[1;38;5;9m", "\x1b]0;a title\a", "\x1b]8;;file:///x\x1b\\", "\x1b(B", "\x1b[K", "\x1b=", "\x1bP1$r q\x1b\\"})
	how := rapid.SampledFrom([]string{"bytes", "marked", "little", "big"}).Draw(r, "how")
	var text strings.Builder
	for n, line := range lines {
		if how == "marked" && (n == 0 || rapid.Bool().Draw(r, "again")) && !strings.HasSuffix(text.String(), "\b") {
			text.WriteString("\ufeff")
		}
		text.WriteString(sequences.Draw(r, "before"))
		for _, part := range strings.SplitAfterN(line, " ", 3) {
			text.WriteString(part + sequences.Draw(r, "within"))
			if how == "bytes" && rapid.Bool().Draw(r, "nul") {
				text.WriteByte(0)
			}
		}
		if n < len(lines)-1 || rapid.Bool().Draw(r, "ended") {
			text.WriteString(ends.Draw(r, "end"))
		}
	}
	var wide []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text.String())) {
		if how == "little" {
			wide = append(wide, byte(unit), byte(unit>>8))
		} else {
			wide = append(wide, byte(unit>>8), byte(unit))
		}
	}
	if how == "little" || how == "big" {
		return wide
	}
	return []byte(text.String())
}

// However output is dressed and cut into pieces, its lines are the text that it means.
func TestLines(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		words := rapid.SampledFrom([]string{"a", "no licence", "é", "45,7%", "\U0001f525 hot", "Saved: /x/ÿþ.exr"})
		var want []string
		for range rapid.IntRange(1, 5).Draw(r, "lines") {
			want = append(want, strings.Repeat(words.Draw(r, "word"), rapid.SampledFrom([]int{1, 3, MaxLine / 2, MaxLine, 2*MaxLine + 1}).Draw(r, "times")))
		}
		var got []string
		l := Lines{Take: whole(&got)}
		for rest := dressed(r, want); len(rest) > 0; {
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

// Bytes that are no text, and sequences that are cut off, never take the lines behind them along.
func TestBrokenBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		noise := rapid.SliceOfN(rapid.SampledFrom([]byte("\x1b\x1b[];P_\\m\a0\xe9\xff\xef\xbb\xc3 x")), 0, 40).Draw(r, "noise")
		if len(noise) > 1 && noise[0] == 0xff && noise[1] == 0xfe {
			r.Skip("UTF-16")
		}
		var got []string
		l := Lines{Take: whole(&got)}
		l.Write(1, noise)
		l.Write(1, []byte("\nFATAL: disk full\n"))
		l.End()
		if len(got) == 0 || got[len(got)-1] != "FATAL: disk full" {
			r.Fatalf("%q after %q", got, noise)
		}
	})
}

// Two streams do not run into each other.
func TestStreams(t *testing.T) {
	var got []string
	l := Lines{Take: whole(&got)}
	l.Write(1, []byte("no lic"))
	l.Write(2, []byte("error\n"))
	l.Write(1, []byte("ence\n"))
	l.End()
	if want := []string{"error", "no licence"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// In a line of any length an expression finds what it finds in the line as a whole, as long as the match is not longer
// than half of what is looked at together, and nothing else.
func TestLongLines(t *testing.T) {
	list := []string{`^ERROR`, `ERROR: (\w+)`, `\bERROR\b`, `(?i)error$`, `^x+$`, `(?m)^ERROR`, `Saved: (\S+)`, `\Qa.b`, `é(.)é`, `(\d+)/(\d+)`, `^.?E`, `(?s)x.E`, `(?i:e)RR|^b`}
	for _, text := range list {
		if _, err := Compile(text); err != nil {
			t.Fatal(text, err)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.SampledFrom(list).Draw(r, "expression")
		words := rapid.SampledFrom([]string{"ERROR", " ERROR: disk ", "xERRORx", "Saved: /x/y.exr", "a.b", "éxé", "12/40", "\xe9", "error"})
		var line strings.Builder
		for range rapid.IntRange(0, 3).Draw(r, "words") {
			gap := rapid.SampledFrom([]int{0, 1, MaxLine/2 - 5, MaxLine / 2, MaxLine - 3, MaxLine, 3 * MaxLine}).Draw(r, "gap")
			line.WriteString(strings.Repeat("x", max(0, gap-rapid.IntRange(0, 16).Draw(r, "less"))) + words.Draw(r, "word"))
		}
		line.WriteString(strings.Repeat("x", rapid.SampledFrom([]int{0, 3, 2 * MaxLine}).Draw(r, "rest")))
		want := regexp.MustCompile(text).FindStringSubmatch(line.String())
		if len(want) > 0 && len(want[0]) > MaxLine/2 || line.Len() > MaxLine && text == `^x+$` {
			r.Skip("longer than what is looked at together")
		}
		e, _ := Compile(text)
		var got []string
		l := Lines{Take: func(p Piece) {
			if groups, at := e.Find(p); at >= 0 && got == nil {
				for _, group := range groups {
					got = append(got, string(group))
				}
			}
		}}
		l.Write(1, []byte(line.String()))
		l.End()
		if !slices.Equal(got, want) {
			r.Fatalf("%s in %d bytes: %.80q, want %.80q", text, line.Len(), got, want)
		}
	})
}

func TestCompile(t *testing.T) {
	for text, good := range map[string]bool{"licen[cs]e": true, "(": false, strings.Repeat("a", MaxLength+1): false, `(a)\1`: false, "(a*)*b": true} {
		if _, err := Compile(text); (err == nil) != good {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

// What is kept of a long line shows the match.
func TestExcerpt(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		before := strings.Repeat(rapid.SampledFrom([]string{"x", "é", "\xe9", ". "}).Draw(r, "before"), rapid.IntRange(0, 3*MaxLine).Draw(r, "times"))
		w, err := New(Rules{Errors: []string{"FATAL: .*"}, Highlights: []string{"FATAL"}})
		if err != nil {
			r.Fatal(err)
		}
		l := Lines{Take: w.Look}
		l.Write(1, []byte(before+"\x1b[31mFATAL: disk\x1b[0m full"+strings.Repeat("y", rapid.IntRange(0, MaxLine).Draw(r, "after"))+"\n"))
		l.End()
		for _, text := range append(w.Highlights(), w.Failure()) {
			if !strings.Contains(text, "FATAL: disk full") || len(text) > MaxHighlight || !utf8.ValidString(text) {
				r.Fatalf("%q", text)
			}
		}
	})
}
