package pathmap

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// mapped is a text that has room.
func mapped(t interface{ Fatal(...any) }, m Map, text string) string {
	got, err := m.Line(text, 1<<20, &Budget{Steps: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// pathOf is a mapped path.
func pathOf(t interface{ Fatal(...any) }, m Map, path string) string {
	got, err := m.Path(path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestBounds: a text never becomes longer than it may, and the work has an end, whatever the entries have in common
// with it.
func TestBounds(t *testing.T) {
	t.Parallel()
	short, err := New([]string{"/a=/" + strings.Repeat("b", 1000)})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := short.Line(strings.Repeat(";/a", 100), 100*1002, &Budget{Steps: 1 << 20}); err != nil || len(got) != 100*1002 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for _, m := range []Map{{}, short} {
		if got, err := m.Line(strings.Repeat(";/a", 100_000), 299_999, &Budget{Steps: 1 << 20}); !errors.Is(err, ErrLong) || got != "" {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	var entries []string
	for n := range MaxEntries {
		entries = append(entries, fmt.Sprintf("//%s%02d=/x", strings.Repeat(";/", 500), n))
	}
	alike, err := New(entries)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := alike.Line(strings.Repeat(`;/x`, 1<<18), 1<<30, &Budget{Steps: 1 << 27}); err != nil {
		t.Error("places that differ at once:", err)
	}
	text := "/" + strings.Repeat("/"+strings.Repeat(";/", 499)+";/", 1000)
	if _, err := alike.Line(text, 1<<30, &Budget{Steps: 1 << 20}); !errors.Is(err, ErrWork) {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	m, err := New([]string{"/vol/proj=/mnt/proj", "/vol=/data/vol/", `P:\=/mnt/p`, "//srv/share=/mnt/share", `p:/fast=/ssd`})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"/vol/proj/a":                     "/mnt/proj/a",
		"/vol/proj":                       "/mnt/proj",
		"/vol/project/a":                  "/data/vol/project/a", // whole parts, and the longest wins
		"/volume/a":                       "/volume/a",
		"x/vol/proj":                      "x/vol/proj",
		"render -o /vol/a.exr '/vol/b c'": "render -o /data/vol/a.exr '/data/vol/b c'",
		"--out=/vol/a,/vol/proj/b":        "--out=/data/vol/a,/mnt/proj/b",
		"/vol/bin:/usr/bin:/vol":          "/data/vol/bin:/usr/bin:/data/vol",
		`p:\sh010\a.mb P:/fast/x`:         "/mnt/p/sh010/a.mb /ssd/x",
		`\\SRV\share\tex`:                 "/mnt/share/tex",
		"http://srv/share/x":              "http://srv/share/x",
		"C:/x map:":                       "C:/x map:",
		`a\/vol`:                          `a\/vol`,
		"":                                "",
	} {
		if got := mapped(t, m, text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for path, want := range map[string]string{"/vol/proj/a b": "/mnt/proj/a b", "/vo": "/vo", `P:\a`: "/mnt/p/a"} {
		if got := pathOf(t, m, path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for want, entries := range map[string][]string{
		"no entry":       {"/a"},
		"before =":       {"=/b"},
		"other than /":   {"/=/b"},
		"after =":        {"/a=b"},
		"another place":  {"/a=/b", "/a/=/c"},
		"P: has another": {"p:=/b", `P:\=/c`},
		"circle":         {"/a=/b", "/b=/a"},
		"in a circle":    {"/a=/a/x"},
		"a circle: /c/x": {"/c=/c/x"},
	} {
		if m, err := New(entries); err == nil || !strings.Contains(err.Error(), want) || !m.Empty() && err == nil {
			t.Errorf("%v: %v, want %s", entries, err, want)
		}
	}
	if _, err := New([]string{"/a=/b", "/b=/c"}); err != nil {
		t.Error(err)
	}
	if _, err := New(make([]string, MaxEntries+1)); err == nil {
		t.Error("any number of entries is taken")
	}
}

// TestOnce: a text without a FROM stays, and a mapped text begins with the TO of the longest FROM.
func TestOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := New([]string{"/a=/x", "/a/b=/y"})
		if err != nil {
			t.Fatal(err)
		}
		path := "/" + strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "c"}), 1, 4).Draw(t, "parts"), "/")
		want := path
		switch {
		case path == "/a/b" || strings.HasPrefix(path, "/a/b/"):
			want = "/y" + path[4:]
		case path == "/a" || strings.HasPrefix(path, "/a/"):
			want = "/x" + path[2:]
		}
		if got := mapped(t, m, path); got != want || pathOf(t, m, path) != want {
			t.Fatalf("%s: %s, %s, want %s", path, got, pathOf(t, m, path), want)
		}
	})
}

func TestAbsolute(t *testing.T) {
	for path, want := range map[string]bool{
		"": false, "/": true, "/a": true, "a/b": false, "./a": false, `P:\`: true, "p:/shots": true, "P:": false, `P:shots`: false,
		`\\server\share\a`: true, "//server/share": true, `\a`: false, "1:/a": false, ":/a": false, `\\?\P:\long`: true,
	} {
		if got := Absolute(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}
