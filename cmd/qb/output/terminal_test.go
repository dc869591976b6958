package output

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func filtered(t *testing.T, colours bool, pieces ...string) string {
	t.Helper()
	var out strings.Builder
	f := &TerminalFilter{out: &out, colours: colours}
	for _, piece := range pieces {
		if n, err := f.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatalf("%d bytes, %v", n, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Text and colours pass; what moves, names, answers, fills or turns does not, nor does it hide a line.
func TestTerminalFilter(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\r\n":                   "plain\ttext\r\n",
		"Jalapeño 日本 🎬":                     "Jalapeño 日本 🎬",
		"\x1b[31mred\x1b[0m":                "\x1b[31mred\x1b[0m\x1b[0m",
		"\x1b[38;2;1;2;3mx\x1b[4:3my":       "\x1b[38;2;1;2;3mx\x1b[4:3my\x1b[0m",
		"a\x1b[2Jb\x1b[1;1Hc":               "abc",
		"a\x1b]0;title\x07b":                "ab",
		"a\x1b]52;c;cm0=\x1b\\b":            "ab",
		"a\x1b]8;;http://x\x1b\\b\x1b[0Kc":  "abc",
		"a\x1bP1$qm\x1b\\b\x1b_x\x1b\\c":    "abc",
		"a\x1bcb\x1b(0c\x1b#8d":             "abcd",
		"a\x1b[?1049hb\x1b[>4;2mc\x1b[ md":  "abcd",
		"never ended \x1b]0;x\nnext line\n": "never ended \nnext line\n",
		"never ended \x1b[31\nnext\n":       "never ended \nnext\n",
		"\x07\x08\x0b\x0c\x00\x7f\x0eok":    "ok",
		"a\u009b2Jb\u0085c\u202ed\u2066e":   "a2Jbcde",
		"bad \xff\xc3 \xe2\x82":             "bad \uFFFD\uFFFD \uFFFD",
		"a\x1b\x1b[31mb":                    "a[31mb",
		"\x1b]0;\x1bx\x1b\\after":           "after",
		"\x1b[31\x1b[2Jx":                   "x",
		strings.Repeat("\x1b[1", 200) + "m": "\x1b[1m\x1b[0m",
	} {
		if got := filtered(t, true, in); got != want {
			t.Errorf("%q passes as %q, want %q", in, got, want)
		}
		if got := filtered(t, true, strings.Split(in, "")...); got != want && utf8.ValidString(in) {
			t.Errorf("%q passes in pieces as %q, want %q", in, got, want)
		}
	}
	if got := filtered(t, false, "\x1b[31mred\x1b[0m"); got != "red" {
		t.Errorf("without colours: %q", got)
	}
	if got := filtered(t, true, "\x1b["+strings.Repeat("1;", 500)+"mrest\n"); strings.Contains(got, "\x1b") || !strings.HasSuffix(got, "rest\n") {
		t.Errorf("an endless colour passes as %q", got)
	}
}

func FuzzTerminalFilter(f *testing.F) {
	f.Add("a\x1b[31mb\x1b]0;x\x07\xff\u202e\n", 3)
	f.Fuzz(func(t *testing.T, text string, at int) {
		at = max(0, min(at, len(text)))
		got := filtered(t, true, text)
		if pieces := filtered(t, true, text[:at], text[at:]); pieces != got {
			t.Errorf("%q passes as %q, cut at %d as %q", text, got, at, pieces)
		}
		if !utf8.ValidString(got) || strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("%q passes as %q", text, got)
		}
		for n, r := range got {
			switch {
			case r == 0x1b:
				colour, _, ok := strings.Cut(got[n+1:], "m")
				if !ok || !strings.HasPrefix(colour, "[") || strings.ContainsFunc(colour[1:], notInColour) {
					t.Errorf("%q passes as %q", text, got)
				}
			case r < ' ' && !strings.ContainsRune("\n\t\r", r), commands(r):
				t.Errorf("%q passes as %q", text, got)
			}
		}
	})
}

// JSON keeps its values and holds nothing that a terminal acts on.
func TestJSONHasNoCommands(t *testing.T) {
	value := map[string]string{"a\u009b": "x\u0085\u202e\u2066\u200f\u061c\x7f\ufeff\U000e0001 é日🎬 <&> \u2028 \ufffd"}
	data, err := EncodeJSON(value)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(string(data), commands) || !strings.Contains(string(data), "é日🎬 <&>") || !strings.Contains(string(data), `\udb40\udc01`) {
		t.Errorf("%s", data)
	}
	var back map[string]string
	if err := json.Unmarshal(data, &back); err != nil || len(back) != 1 || back["a\u009b"] != value["a\u009b"] {
		t.Errorf("%q comes back as %q, %v", value, back, err)
	}
}
