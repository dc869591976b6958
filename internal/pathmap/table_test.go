package pathmap

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"testing"
)

// hostMaps are the path maps of a host of each system, in the order of the table's columns.
var hostMaps = []struct {
	system  string
	entries []string
}{
	{"linux", []string{"P:=/mnt/proj", `P:\fast=/ssd`, `\\nas\lib=/mnt/lib`, "/Volumes/proj=/mnt/proj",
		"/Volumes/My Disk=/mnt/my disk"}},
	{"macos", []string{"P:=/Volumes/proj", `P:\fast=/Volumes/fast`, `\\nas\lib=/Volumes/lib`, "/mnt/proj=/Volumes/proj",
		"/mnt/my disk=/Volumes/My Disk", "/ssd=/Volumes/fast"}},
	{"windows", []string{"/mnt/proj=P:", "/Volumes/proj=P:", `/mnt/lib=\\nas\lib`, `/Volumes/lib=\\nas\lib`,
		`/mnt/my disk=D:\My Disk`, `/ssd=P:\fast`}},
}

// TestPathTable: what becomes of a path of one system on a host of another. A word of a command that is a path becomes
// the same as a path.
func TestPathTable(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/paths.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		cells := strings.Split(lines.Text(), "\t")
		if len(cells) != 1+len(hostMaps) {
			t.Fatalf("%q has %d columns", lines.Text(), len(cells))
		}
		for n := range cells {
			cells[n] = strings.ReplaceAll(cells[n], "<TAB>", "\t")
		}
		rows++
		for n, host := range hostMaps {
			checkRow(t, host.system, host.entries, cells[0], cells[1+n])
		}
	}
	if rows < 200 {
		t.Errorf("%d rows", rows)
	}
}

func checkRow(t *testing.T, system string, entries []string, path, want string) {
	m, err := New(entries)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Path(path)
	var wrong *NameError
	switch name, refused := strings.CutPrefix(want, "!"); {
	case refused:
		if !errors.As(err, &wrong) || wrong.name != name {
			t.Errorf("%s: %q becomes %q, %v; want a refusal of %q", system, path, got, err, name)
		}
		return
	case want == "=":
		want = path
	}
	if err != nil || got != want {
		t.Errorf("%s: %q becomes %q, %v; want %q", system, path, got, err, want)
	}
	// As a word it is a list of paths, or a line for a shell.
	list := strings.LastIndexAny(path, ",;:") > 1 || want == path && strings.Contains(path, " ")
	word, err := m.Word(path, 1<<10, &Budget{Steps: 1 << 20})
	if !list && (err != nil || word != want) {
		t.Errorf("%s: the word %q becomes %q, %v; want %q", system, path, word, err, want)
	}
	if !list && want != path && !m.Knows(path) {
		t.Errorf("%s: %q is not known", system, path)
	}
}
