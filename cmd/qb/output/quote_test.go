package output

import (
	"os/exec"
	"strings"
	"testing"
)

// What is quoted is read back by a shell as it was, on one line.
func FuzzShellQuote(f *testing.F) {
	for _, seed := range []string{"", "a", "it's", "$HOME", "a\nb", "\x1b[2J", "-x=*", "ä\u202e", "\\n'", "~"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.Contains(word, "\x00") {
			return // no command line can hold it
		}
		quoted := ShellQuote(word)
		out, err := exec.Command("bash", "-c", "printf %s "+quoted).Output()
		if err != nil || string(out) != word || strings.ContainsAny(quoted, "\n\x1b") {
			t.Errorf("%q is quoted as %s, which bash reads as %q, %v", word, quoted, out, err)
		}
	})
}
