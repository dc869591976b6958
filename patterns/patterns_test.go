package patterns

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// watched is a watch of what is written to the lines.
type watched struct {
	*Watch
	Lines
}

func watch(t interface{ Fatal(...any) }, progress, errors string) *watched {
	w, err := New(Split(progress), Split(errors))
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
		strings.Repeat("x", MaxLine) + "tile 1/2\n":     0, // beyond the bound
		strings.Repeat("x", 2*MaxLine) + "\ntile 1/2\n": 50,
	} {
		w := watch(t, "ALF_PROGRESS (\\d+)%\ntile (\\d+)/(\\d+)", "")
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
	if none, err := New(nil, nil); none != nil || err != nil {
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
