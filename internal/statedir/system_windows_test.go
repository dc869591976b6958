package statedir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// replaced makes a file and opens it. Its folder is removed name by name: Wine 8 lacks the call by which t.TempDir does that.
func replaced(t *testing.T, mode os.FileMode) *os.File {
	t.Helper()
	dir, err := os.MkdirTemp("", "qb")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "file")
	t.Cleanup(func() {
		if err := errors.Join(os.Remove(name), os.Remove(dir)); err != nil {
			t.Error(err)
		}
	})
	if err := ReplaceWith(name, mode, []byte("bytes")); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestPrivateFileIsClosedToOthers: the access list of a file of mode 0600 has the user, the system and administrators alone.
func TestPrivateFileIsClosedToOthers(t *testing.T) {
	f := replaced(t, 0o600)
	own, err := ownSID()
	if err != nil {
		t.Fatal(err)
	}
	sd, err := securityOf(f)
	if err != nil {
		t.Fatal(err)
	}
	dacl, _, err := sd.DACL()
	if err != nil || dacl == nil || dacl.AceCount == 0 {
		t.Fatalf("%v, %v", dacl, err)
	}
	for n := range uint32(dacl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(dacl, n, &ace); err != nil {
			t.Fatal(err)
		}
		if who := (*windows.SID)(unsafe.Pointer(&ace.SidStart)); ace.Mask != 0 && !trustedSID(who, own) {
			t.Errorf("%s has the rights %x", who, ace.Mask)
		}
	}
	if mine, err := Mine(f); !mine || err != nil {
		t.Errorf("mine: %v, %v", mine, err)
	}
	if why, err := Exposed(f); why != "" || err != nil {
		t.Errorf("exposed: %q, %v", why, err)
	}
}

// TestExposed: a file that everybody may write is named as such.
func TestExposed(t *testing.T) {
	f := replaced(t, 0o644)
	sd, err := windows.SecurityDescriptorFromString("D:P(A;;FA;;;WD)")
	if err != nil {
		t.Fatal(err)
	}
	dacl, _, err := sd.DACL()
	if err != nil {
		t.Fatal(err)
	}
	if err := windows.SetNamedSecurityInfo(f.Name(), windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil); err != nil {
		t.Fatal(err)
	}
	if why, err := Exposed(f); !strings.HasPrefix(why, "can be written by ") || err != nil {
		t.Errorf("%q, %v", why, err)
	}
}

// TestReplaceWaits: a file that another program has open is replaced when that closes it, or not at all within a second, and
// then no part is left beside it.
func TestReplaceWaits(t *testing.T) {
	for _, c := range []struct {
		held time.Duration
		good bool
	}{{200 * time.Millisecond, true}, {3 * time.Second, false}} {
		f := replaced(t, 0o644)
		name := f.Name()
		f.Close()
		path, err := windows.UTF16PtrFromString(name)
		if err != nil {
			t.Fatal(err)
		}
		other, err := windows.CreateFile(path, windows.GENERIC_READ, windows.FILE_SHARE_READ, nil, windows.OPEN_EXISTING, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan error, 1)
		time.AfterFunc(c.held, func() { closed <- windows.CloseHandle(other) })
		err = ReplaceWith(name, 0o644, []byte("later"))
		if err := <-closed; err != nil {
			t.Fatal(err)
		}
		if text, _ := os.ReadFile(name); (err == nil) != c.good || (string(text) == "later") != c.good {
			t.Errorf("held for %v: %v, %q", c.held, err, text)
		}
		if left, err := os.ReadDir(filepath.Dir(name)); len(left) != 1 || err != nil {
			t.Errorf("held for %v: left %v, %v", c.held, left, err)
		}
	}
}
