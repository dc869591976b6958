package limitwriter

import (
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// However it is written, the beginning is kept, and the writer always goes on.
func TestBuffer(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		b := Buffer{Most: rapid.IntRange(0, 20).Draw(r, "most")}
		var all strings.Builder
		for _, part := range rapid.SliceOf(rapid.StringMatching(`[a-z]{0,9}`)).Draw(r, "parts") {
			if n, err := io.Copy(&b, strings.NewReader(part)); int(n) != len(part) || err != nil {
				r.Fatalf("%q: %d, %v", part, n, err)
			}
			all.WriteString(part)
		}
		want := all.String()[:min(b.Most, all.Len())]
		if string(b.Bytes()) != want || b.Over != (len(want) < all.Len()) {
			r.Fatalf("%q of %q is kept, over %v", b.Bytes(), all.String(), b.Over)
		}
	})
}
