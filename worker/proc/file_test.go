package proc

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// What the kernel says is read whole, however long it is, and nothing is made where it has no file.
func TestFilesOfTheKernel(t *testing.T) {
	dir := t.TempDir()
	long := bytes.Repeat([]byte("one line of many\n"), 20_000)
	path := filepath.Join(dir, "long")
	if err := os.WriteFile(path, long, 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(path); err != nil || !bytes.Equal(data, long) {
		t.Errorf("%d of %d bytes are read: %v", len(data), len(long), err)
	}
	if err := WriteFile(path, "two"); err != nil {
		t.Error(err)
	}
	if data, err := ReadFile(path); err != nil || !bytes.HasPrefix(data, []byte("two line of")) {
		t.Errorf("after writing over the first bytes the file begins with %.20q: %v", data, err)
	}
	missing := filepath.Join(dir, "missing")
	if err := WriteFile(missing, "1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("writing to a file that is not there: %v", err)
	}
	if _, err := ReadFile(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading a file that is not there: %v", err)
	}
}

// A folder of more names than fit into one answer of the kernel is listed whole.
func TestNamesOfALargeFolder(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for n := range 1000 {
		name := "a name of some length " + strconv.Itoa(10_000+n)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names, err := Names(dir)
	slices.Sort(names)
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%d of %d names are listed: %v", len(names), len(want), err)
	}
}
