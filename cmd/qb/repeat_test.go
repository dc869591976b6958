package main

import (
	"os/exec"
	"strings"
	"testing"
)

func TestKeyOf(t *testing.T) {
	r := repetition{key: "k"}
	long := r.keyOf(strings.Repeat("1,", 100))
	if a, b := r.keyOf(""), r.keyOf("12:1-5"); a != "k" || b != "k/12:1-5" || len(long) > 128 || long == r.keyOf(strings.Repeat("2,", 100)) || !printableASCII(r.keyOf("7:ä")) {
		t.Errorf("%q, %q, %q, %q", a, b, long, r.keyOf("7:ä"))
	}
}

// What is quoted is read back by a shell as it was, on one line.
func FuzzShellQuote(f *testing.F) {
	for _, seed := range []string{"", "a", "it's", "$HOME", "a\nb", "\x1b[2J", "-x=*", "ä\u202e", "\\n'", "~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.Contains(word, "\x00") {
			return // no command line can hold it
		}
		quoted := shellQuote(word)
		out, err := exec.Command("bash", "-c", "printf %s "+quoted).Output()
		if err != nil || string(out) != word || strings.ContainsAny(quoted, "\n\x1b") {
			t.Errorf("%q is quoted as %s, which bash reads as %q, %v", word, quoted, out, err)
		}
	})
}
