//go:build unix

package statedir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const stranger = 54321 // a user id that no account has

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A folder of our own is made, private, and taken again; the ones above it may be /tmp.
func TestMake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		must(t, Make(dir, 0o700))
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	must(t, Make(link, 0o700)) // an own link is as good as its target
}

// What somebody else owns, or may write to, is refused in words and left as it was.
func TestMakeRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		root bool
		make func(t *testing.T, base string) string
		says string
	}{
		"writable by all": {false, func(t *testing.T, base string) string {
			must(t, os.Chmod(base, 0o777))
			return base
		}, "chmod go-w"},
		"a parent writable by all": {false, func(t *testing.T, base string) string {
			must(t, os.Chmod(base, 0o777))
			return filepath.Join(base, "state")
		}, "chmod go-w"},
		"a file": {false, func(t *testing.T, base string) string {
			must(t, os.WriteFile(filepath.Join(base, "f"), nil, 0o600))
			return filepath.Join(base, "f")
		}, "is no folder"},
		"writable by a group": {true, func(t *testing.T, base string) string {
			must(t, os.Chown(base, 0, stranger))
			must(t, os.Chmod(base, 0o770))
			return base
		}, "chmod go-w"},
		"of another user": {true, func(t *testing.T, base string) string {
			must(t, os.Chown(base, stranger, stranger))
			return base
		}, "belongs to user id 54321"},
		"below another user's": {true, func(t *testing.T, base string) string {
			must(t, os.Mkdir(filepath.Join(base, "state"), 0o700))
			must(t, os.Chown(base, stranger, stranger))
			return filepath.Join(base, "state")
		}, "belongs to user id 54321"},
		"another user's link in a sticky folder": {true, func(t *testing.T, base string) string {
			must(t, os.Chmod(base, 0o777|os.ModeSticky))
			must(t, os.Mkdir(filepath.Join(base, "real"), 0o700))
			link := filepath.Join(base, "farm")
			must(t, os.Symlink(filepath.Join(base, "real"), link))
			must(t, os.Lchown(link, stranger, stranger))
			return link
		}, "symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.root && os.Geteuid() != 0 {
				t.Log("only root can make folders of others")
				return
			}
			path := tc.make(t, filepath.Join(t.TempDir(), "."))
			before, _ := os.Lstat(path)
			err := Make(path, 0o700)
			if !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), "-state") {
				t.Errorf("%v", err)
			}
			after, _ := os.Lstat(path)
			if (before == nil) != (after == nil) || before != nil && before.Mode() != after.Mode() {
				t.Errorf("changed from %v to %v", before, after)
			}
		})
	}
}

// A folder above may belong to an account that the caller trusts.
func TestMakeBelowAnAccount(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can make folders of others
	}
	base := t.TempDir()
	must(t, os.Chown(base, stranger, stranger))
	if err := Make(filepath.Join(base, "worker"), 0o700); !errors.Is(err, ErrForeign) {
		t.Errorf("%v", err)
	}
	must(t, Make(filepath.Join(base, "worker"), 0o700, stranger))
}

// A file is opened only if it is a plain one of ours; another one keeps its bytes.
func TestOpenFile(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.WriteFile(path("mine"), []byte("bytes"), 0o600))
	must(t, os.WriteFile(path("twice"), []byte("bytes"), 0o600))
	must(t, os.Link(path("twice"), path("again")))
	must(t, os.Symlink("mine", path("link")))
	must(t, syscall.Mkfifo(path("fifo"), 0o600))
	open := func(name string) error {
		f, err := OpenFile(path(name), os.O_RDWR|os.O_CREATE, 0o600)
		if err == nil {
			err = f.Close()
		}
		return err
	}
	for _, good := range []string{"mine", "new"} {
		must(t, open(good))
	}
	bad := []string{"twice", "link", "fifo"}
	if os.Geteuid() == 0 {
		must(t, os.WriteFile(path("theirs"), []byte("bytes"), 0o600))
		must(t, os.Chown(path("theirs"), stranger, stranger))
		bad = append(bad, "theirs")
	}
	for _, name := range bad {
		if err := open(name); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text, err := os.ReadFile(path("mine")); err != nil || string(text) != "bytes" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestReplaceIsAllOrNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	put := func(text string, failure error) error {
		return Replace(path, 0o640, func(f *os.File) error {
			_, err := f.WriteString(text)
			return errors.Join(err, failure)
		})
	}
	if err := put("first", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := put("a part", broken); !errors.Is(err, broken) {
		t.Errorf("the failure became %v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "first" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if names, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestLock(t *testing.T) {
	folder := t.TempDir()
	release, err := Lock(folder, "lock", "use another")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Lock(folder, "lock", "use another")
	if want := fmt.Sprintf("state folder %s is in use by process %d; use another", folder, os.Getpid()); err == nil || err.Error() != want {
		t.Fatalf("a folder that is held: %v, not %q", err, want)
	}
	release()
	again, err := Lock(folder, "lock", "use another")
	if err != nil {
		t.Fatal("a folder that was given free:", err)
	}
	again()
}
