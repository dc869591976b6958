package openjd

import (
	"strings"
	"testing"
)

// TestJoin: a default stays in its folder, also where a backslash divides names.
func TestJoin(t *testing.T) {
	for _, c := range [][3]string{
		{"/t", "a/b", "/t/a/b"}, {"/t", `a\..\..\b`, `/t/a\..\..\b`}, {"/", "a", "/a"}, {"/t/", "../t/x", "/t/x"},
		{"C:/t", `a\b`, "C:/t/a/b"}, {"C:/t", "a/b", "C:/t/a/b"},
		{"/t", "../x", "leads out"}, {"/t", "a/../../b", "leads out"}, {"C:/t", `..\x`, "leads out"}, {"C:/t", `a\..\..\b`, "leads out"},
		{"/t", "/x", "is an absolute path"}, {"C:/t", `D:\x`, "is an absolute path"}, {"C:/t", `\\server\x`, "is an absolute path"},
	} {
		got, err := joinDefault(c[0], c[1])
		if err != nil {
			got = err.Error()
		}
		if got != c[2] && !(err != nil && strings.Contains(got, c[2])) {
			t.Errorf("%s in %s is %s, not %s", c[1], c[0], got, c[2])
		}
	}
}
