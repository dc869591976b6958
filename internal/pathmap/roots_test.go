package pathmap

import (
	"slices"
	"testing"
)

// TestRoots: which words of commands have paths of a family of systems, and which only look alike.
func TestRoots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text            string
		ofWindows, line bool
		want            []string
	}{
		{`P:\shot\a.ma`, true, false, []string{`P:\shot\a.ma`}},
		{`p:/shot`, true, false, []string{`p:/shot`}},
		{`-o=P:\a`, true, false, []string{`P:\a`}},
		{`P:\a;Q:\b`, true, false, []string{`P:\a;Q:\b`, `Q:\b`}},
		{`\\nas\lib\x`, true, false, []string{`\\nas\lib\x`}},
		{`\\?\P:\a`, true, false, []string{`\\?\P:\a`}},
		{`\\?\UNC\nas\lib`, true, false, []string{`\\?\UNC\nas\lib`}},
		{`render P:\a "Q:\b c" 'R:\d'`, true, true, []string{`P:\a "Q:\b c" 'R:\d'`, `Q:\b c" 'R:\d'`, `R:\d'`}},
		// no paths, or none of Windows
		{`P:shot`, true, false, nil},
		{`P:`, true, false, nil},
		{`print('a:\n')`, true, false, nil},
		{`Frame:\s(\d+)`, true, false, nil},
		{`\\d+\\s`, true, false, nil},
		{`http://nas/lib`, true, false, nil},
		{`//render/frame_####`, true, false, nil}, // Blender: beside the scene
		{`\\nas`, true, false, nil},
		{`/mnt/proj`, true, false, nil},
		// of the others
		{`/mnt/a`, false, false, []string{`/mnt/a`}},
		{`--out=/mnt/a:/mnt/b`, false, false, []string{`/mnt/a:/mnt/b`, `/mnt/b`}},
		{`cd /mnt && ./go`, false, true, []string{`/mnt && ./go`}},
		{`a/b`, false, false, nil},
		{`//render/frame`, false, false, nil},
		{`http://nas/lib`, false, false, nil},
		{`/`, false, false, nil},
		{`P:\a`, false, false, nil},
	} {
		var got []string
		Roots(c.text, c.ofWindows, c.line, func(path string) { got = append(got, path) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, of Windows %v, line %v: %q, want %q", c.text, c.ofWindows, c.line, got, c.want)
		}
	}
}

// TestFamilies: a job's entries for hosts of both families do not get in each other's way.
func TestFamilies(t *testing.T) {
	t.Parallel()
	entries := []string{"P:=/mnt/p", "/mnt/p=P:", `/Volumes/p=\\nas\p`, "/Volumes/p=/mnt/p"}
	if got := ForHost(true, entries); !slices.Equal(got, []string{"/mnt/p=P:", `/Volumes/p=\\nas\p`}) {
		t.Error(got)
	}
	if got := ForHost(false, entries); !slices.Equal(got, []string{"P:=/mnt/p", "/Volumes/p=/mnt/p"}) {
		t.Error(got)
	}
	for _, onWindows := range []bool{true, false} {
		if _, err := New(ForHost(onWindows, entries)); err != nil {
			t.Error(err)
		}
	}
}
