package pathmap

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRoots: which words of commands have paths of a family of systems, and which only look alike.
func TestRoots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text      string
		ofWindows bool
		want      []string
	}{
		{`P:\shot\a.ma`, true, []string{`P:\shot\a.ma`}},
		{`p:/shot`, true, []string{`p:/shot`}},
		{`-o=P:\a`, true, []string{`P:\a`}},
		{`P:\a;Q:\b`, true, []string{`P:\a;Q:\b`, `Q:\b`}},
		{`\\nas\lib\x`, true, []string{`\\nas\lib\x`}},
		{`\\?\P:\a`, true, []string{`\\?\P:\a`}},
		{`open('P:\a')`, true, []string{`P:\a')`}},
		{`\\?\UNC\nas\lib`, true, []string{`\\?\UNC\nas\lib`}},
		{`render P:\a "Q:\b c" 'R:\d'`, true, []string{`P:\a "Q:\b c" 'R:\d'`, `Q:\b c" 'R:\d'`, `R:\d'`}},
		// no paths, or none of Windows
		{`P:shot`, true, nil},
		{`P:`, true, nil},
		{`printf 'Frame a:%s'`, true, nil},
		{`Frame:\s(\d+)`, true, nil},
		{`\\d+\\s`, true, nil},
		{`http://nas/lib`, true, nil},
		{`//render/frame_####`, true, nil}, // Blender: beside the scene
		{`\\nas`, true, nil},
		{`/mnt/proj`, true, nil},
		// of the others
		{`/mnt/a`, false, []string{`/mnt/a`}},
		{`--out=/mnt/a:/mnt/b`, false, []string{`/mnt/a:/mnt/b`, `/mnt/b`}},
		{`cd /mnt && ./go`, false, []string{`/mnt && ./go`}},
		{`a/b`, false, nil},
		{`//render/frame`, false, nil},
		{`http://nas/lib`, false, nil},
		{`/`, false, nil},
		{`P:\a`, false, nil},
	} {
		got := slices.Collect(Roots(c.text, c.ofWindows))
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, of Windows %v: %q, want %q", c.text, c.ofWindows, got, c.want)
		}
	}
}

// BenchmarkRoots: the time rises with the length of a text alone, whatever it is made of.
func BenchmarkRoots(b *testing.B) {
	for _, piece := range []string{"a b ", ";", `;\\`, `;\\a`, ";P:\\", ";/a", `\\?\`, strings.Repeat("\\", 300) + ";"} {
		for _, size := range []int{64 << 10, 1 << 20} {
			text := strings.Repeat(piece, size/len(piece))
			b.Run(fmt.Sprintf("%.4q/%d-KiB", piece, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					for range Roots(text, true) {
					}
					for range Roots(text, false) {
					}
				}
			})
		}
	}
}

// TestFamilies: a job's entries for hosts of both families do not get in each other's way.
func TestFamilies(t *testing.T) {
	t.Parallel()
	entries := []string{"P:=/mnt/p", "/mnt/p=P:", `/Volumes/p=\\nas\p`, "/Volumes/p=/mnt/p", "Q:=//mnt/q"}
	if got := ForHost(true, entries); !slices.Equal(got, []string{"/mnt/p=P:", `/Volumes/p=\\nas\p`}) {
		t.Error(got)
	}
	if got := ForHost(false, entries); !slices.Equal(got, []string{"P:=/mnt/p", "/Volumes/p=/mnt/p", "Q:=//mnt/q"}) {
		t.Error(got)
	}
	for _, onWindows := range []bool{true, false} {
		if _, err := New(ForHost(onWindows, entries)); err != nil {
			t.Error(err)
		}
	}
}
