package translate

import (
	"fmt"
	"strings"
	"testing"

	"qb/api"
)

// TestLargestIsAccepted: what fits the bounds is accepted whatever its characters, as far as it fits its way to the
// shim, and what no process can have is refused with the number of bytes.
func TestLargestIsAccepted(t *testing.T) {
	for _, character := range []string{"<", "a", "é", `"`, "\n", "\x01", "\u2028", "\U0001F3AC"} {
		r := api.SubmitRequest{Command: []string{"/bin/true"}, Env: map[string]string{}}
		word := strings.Repeat(character, 60_000/len(character))
		accepted := 0
		for n := 0; ; n++ {
			if n%2 == 0 {
				r.Command = append(r.Command, word)
			} else {
				r.Env[fmt.Sprintf("X%d", n)] = word
			}
			_, err := Submission(&r, "ann", "s")
			if err != nil {
				if text := err.Error(); !strings.Contains(text, fmt.Sprint(api.MaxSpec)) &&
					!strings.Contains(text, fmt.Sprint(api.MaxCommand)) {
					t.Errorf("%q: %v", character, err)
				}
				break
			}
			accepted += len(word)
		}
		if written := accepted / len(character) * (api.JSONSize(character) - 2); accepted < 1_900_000 &&
			written < api.MaxSpec-500_000 {
			t.Errorf("of %q only %d bytes are accepted, %d in JSON", character, accepted, written)
		}
	}
	long := strings.Repeat("x", api.MaxWord)
	for n, r := range []api.SubmitRequest{
		{Command: []string{"true", long}}, {Command: []string{long}, Shell: true},
		{Command: []string{"true"}, Env: map[string]string{"X": long[2:]}},
	} {
		if _, err := Submission(&r, "ann", "s"); err != nil {
			t.Errorf("%d: %v", n, err)
		}
		if len(r.Env) > 0 {
			r.Env["X"] += "x"
		} else {
			r.Command[len(r.Command)-1] += "x"
		}
		if _, err := Submission(&r, "ann", "s"); err == nil || !strings.Contains(err.Error(), "131072 bytes") ||
			!strings.Contains(err.Error(), "131071") {
			t.Errorf("%d: %v", n, err)
		}
	}
}
