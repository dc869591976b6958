package patterns

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// watched is a watch of what is written to the lines.
type watched struct {
	*Watch
	Lines
}

func watch(t interface{ Fatal(...any) }, progress, errors string) *watched {
	w, err := New(Rules{Progress: Split(progress), Errors: Split(errors)})
	if err != nil {
		t.Fatal(err)
	}
	return &watched{w, Lines{Take: w.Look}}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]int{
		"ALF_PROGRESS 42%\n":                  42,
		"ALF_PROGRESS 42%\nALF_PROGRESS 7%\n": 7,
		"tile 3/12\r":                         25,
		"ALF_PROGRESS 5":                      0, // the line has not ended
		"ALF_PROGRESS 500%\ntile 1/0\n":       0,
		"x\n":                                 0,
		strings.Repeat("x", MaxLine) + "tile 1/2\n":     50,
		"\b\b\b12%\b\b\b13%\b":                          13,
		"45,7% \r":                                      45,
		"tile 1,024/4,096\n":                            25,
		strings.Repeat("x", 2*MaxLine) + "\ntile 1/2\n": 50,
	} {
		w := watch(t, "ALF_PROGRESS (\\d+)%\ntile ([\\d,]+)/([\\d,]+)\n([\\d,]+)%", "")
		w.Write(0, []byte(output))
		if w.Progress() != want {
			t.Errorf("%.40q: %d, want %d", output, w.Progress(), want)
		}
	}
	w := watch(t, "ALF_PROGRESS (\\d+)%", "")
	w.Write(1, []byte("ALF_PROGRESS 5%"))
	w.End()
	if w.Progress() != 5 {
		t.Errorf("the last line: %d", w.Progress())
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	w := watch(t, "", "(?i)^error\nlicen[cs]e denied")
	w.Write(0, []byte("fine\nno error\n"))
	if w.Failure() != "" {
		t.Errorf("%q", w.Failure())
	}
	w.Write(1, []byte("license den"))
	w.Write(0, []byte("Error: \xff first\nERROR: second\n"))
	w.Write(1, []byte("ied\n"))
	if w.Failure() != "Error: � first" {
		t.Errorf("%q", w.Failure())
	}
	if none, err := New(Rules{}); none != nil || err != nil {
		t.Error(none, err)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"(", `(a)\1`, "a(?=b)", strings.Repeat("a", MaxLength+1), strings.Repeat("a\n", Most+1)} {
		if Check(text) == nil {
			t.Errorf("%.40q is taken", text)
		}
	}
	if err := Check("\n(\\d+)%\r\n\nframe\n"); err != nil {
		t.Error(err)
	}
}

// TestPieces: how the output comes in pieces means nothing.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		output := []byte(rapid.StringMatching(`([a-c0-9%/\r\n]|bad|tile 3/4){0,60}`).Draw(t, "output"))
		whole, pieces := watch(t, `(\d+)%`, "b.d"), watch(t, `(\d+)%`, "b.d")
		whole.Write(0, output)
		whole.End()
		for rest := output; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			pieces.Write(0, rest[:n])
			rest = rest[n:]
		}
		pieces.End()
		if whole.Progress() != pieces.Progress() || whole.Failure() != pieces.Failure() {
			t.Fatalf("%q: %d %q, %d %q", output, whole.Progress(), whole.Failure(), pieces.Progress(), pieces.Failure())
		}
	})
}

// Lines and paths are kept once each, whole characters, without control characters, and no more than their bounds.
func TestFinds(t *testing.T) {
	w, err := New(Rules{Highlights: []string{"(?i)warning", "^total"}, OutputPaths: []string{`Saved: '([^']*)'`, `/out/\S+\.exr`}})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"fine", "Warning: \x1b[31mno texture\x1b[0m", "Warning: \x1b[31mno texture\x1b[0m", "total 5 s", "Saved: '/a b/c.png'", "writes /out/1.exr", "writes /out/1.exr", "Saved: '/x/Pok\xe9mon.exr'",
		"Saved: ''", "Saved: '" + strings.Repeat("x", MaxPath+1) + "'", "warning: \xff " + strings.Repeat("ä", MaxHighlight)} {
		w.Look(Piece{Text: []byte(line)})
	}
	lines, paths := w.Highlights(), w.OutputPaths()
	if len(lines) != 3 || lines[0] != "Warning: no texture" || lines[1] != "total 5 s" || len(lines[2]) > MaxHighlight || !utf8.ValidString(lines[2]) {
		t.Errorf("%q", lines)
	}
	if !slices.Equal(paths, []string{"/a b/c.png", "/out/1.exr"}) {
		t.Errorf("%q", paths)
	}
	for n := range 1000 {
		w.Look(Piece{Text: fmt.Appendf(nil, "warning %d about /out/%d.exr", n, n)})
	}
	if lines, paths := w.Highlights(), w.OutputPaths(); len(lines) != MostHighlights || len(paths) != MostPaths || lines[3] != "warning 0 about /out/0.exr" {
		t.Errorf("%d lines, %d paths, %q", len(lines), len(paths), lines[3])
	}
	if _, err := New(Rules{Highlights: []string{"("}}); err == nil {
		t.Error("an expression that is none")
	}
}

// TestProgramsAreBounded: what an attribute's expressions compile to is bounded, however short they are; plain text of
// any length that is accepted fits.
func TestProgramsAreBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"(?:a?b?c?d?){992}z", strings.Repeat("(?:a?b?c?d?){250}z\n", 3), "a{1000}b{1000}c{1000}", strings.Repeat("(?:a?b?c?d?){999}", 15), "(?:\\pL\\pN?){999}",
	} {
		if err := Check(text); err == nil || !strings.Contains(err.Error(), "2500") || !strings.Contains(err.Error(), "instructions") {
			t.Errorf("%.40q: %v", text, err)
		}
		if w, err := New(Rules{Errors: Split(text)}); err == nil || w != nil {
			t.Errorf("%.40q is looked for", text)
		}
	}
	for _, text := range []string{
		strings.Repeat(strings.Repeat("x", MaxLength)+"\n", Most), `(?i)error|warning|fatal`, `\d{1,100}`, `.{0,500}`, `Progress: (\d+)%`, `^\[[0-9T:.-]{20,40}\] +(?:ERROR|CRITICAL) .{0,200}$`,
	} {
		if err := Check(text); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// TestStoppedWatch: a watch that is ordered to stop looks for nothing more, in the same line.
func TestStoppedWatch(t *testing.T) {
	t.Parallel()
	w := watch(t, "(\\d+)%", "error")
	asked := 0
	w.Stop = func() bool { asked++; return asked > 1 }
	w.Write(0, []byte("error 5%\nerror 6%\n"))
	if w.Progress() != 0 || w.Failure() == "" {
		t.Errorf("after the first expression %d and %q were found", w.Progress(), w.Failure())
	}
}
