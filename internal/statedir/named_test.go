//go:build unix

package statedir

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNamedFiles: no file that a person can name lets a reader wait for ever, and a pipe that has a writer is read.
func TestNamedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, pipe := range []string{"silent", "written"} {
		if err := syscall.Mkfifo(at(pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("silent"), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("loop"), at("loop")); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(at("written"), []byte("text"), 0o600) }()
	for _, one := range []struct{ name, text, err string }{
		{at("file"), "text", ""},
		{at("written"), "text", ""},
		{os.DevNull, "", ""},
		{"/dev/zero", "", "larger than"},
		{at("silent"), "", "is a pipe, and nothing has been written to it"},
		{at("link"), "", "is a pipe, and nothing has been written to it"},
		{dir, "", "is a directory"},
		{at("missing"), "", "no such file"},
	} {
		begun := time.Now()
		data, err := readNamed(one.name, time.Second)
		if string(data) != one.text && one.err == "" || one.err == "" && err != nil || one.err != "" && (err == nil || !strings.Contains(err.Error(), one.err)) {
			t.Errorf("%s: %q, %v", one.name, data[:min(len(data), 20)], err)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%s took %v", one.name, took)
		}
	}
	for name, want := range map[string]string{
		at("file"): "", at("silent"): "is a pipe", at("link"): "is a pipe", "/dev/zero": "is a device", os.DevNull: "is a device", dir: "is a folder",
		at("loop"): "too many levels", at("missing"): "no such file",
	} {
		if data, err := ReadRegular(name); want == "" && (err != nil || string(data) != "text") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("regular %s: %q, %v", name, data, err)
		}
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

// TestWriteNamed: a pipe is written into and never replaced, nor is a folder or a link.
func TestWriteNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, pipe := range []string{"unread", "read"} {
		if err := syscall.Mkfifo(at(pipe), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("file", at("link")); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		data, err := os.ReadFile(at("read"))
		if err != nil {
			t.Error(err)
		}
		read <- string(data)
	}()
	for _, one := range []struct{ name, err string }{
		{at("file"), ""},
		{at("link"), ""},
		{at("read"), ""},
		{os.DevNull, ""},
		{at("unread"), "is a pipe, and no program has read it"},
		{dir, "is a folder; name a file"},
		{at("none/file"), "no such file"},
	} {
		before, _ := os.Lstat(one.name)
		err := writeNamed(one.name, 0o600, []byte("text"), time.Second)
		if one.err == "" && err != nil || one.err != "" && (err == nil || !strings.Contains(err.Error(), one.err)) {
			t.Errorf("%s: %v", one.name, err)
		}
		if after, _ := os.Lstat(one.name); before != nil && before.Mode().Type() != after.Mode().Type() {
			t.Errorf("%s was %v and is %v", one.name, before.Mode(), after.Mode())
		}
	}
	if got := <-read; got != "text" {
		t.Errorf("the pipe's reader got %q", got)
	}
	if data, err := os.ReadFile(at("file")); string(data) != "text" {
		t.Errorf("%q, %v", data, err)
	}
}
