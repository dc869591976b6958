package api

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// TestJSONSize: it is exactly what the encoder writes, of each byte and of any text.
func TestJSONSize(t *testing.T) {
	t.Parallel()
	check := func(t rapid.TB, s string) {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(s); err != nil {
			t.Fatal(err)
		}
		if got := JSONSize(s); got != out.Len()-1 {
			t.Fatalf("%q: %d bytes, the encoder writes %d", s, got, out.Len()-1)
		}
	}
	for c := range 256 {
		check(t, string([]byte{byte(c)}))
		check(t, "a"+string([]byte{byte(c)})+"é")
	}
	for _, s := range []string{"", "<>&", "\u2028\u2029", "\u2027\u202a", "\U0001F3AC", "\xf0\x9f", "\xed\xa0\x80", "\ufffd", "\x7f"} {
		check(t, s)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))) })
}
