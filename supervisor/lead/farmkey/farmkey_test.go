package farmkey

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// The file is made once, is private, and gives the same keys whenever it is read.
func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "farm.key")
	key, made, err := Load(path)
	if err != nil || !made {
		t.Fatalf("first load: made %v, %v", made, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	again, made, err := Load(path)
	if err != nil || made {
		t.Fatalf("second load: made %v, %v", made, err)
	}
	if !bytes.Equal(key.Public(), again.Public()) || !bytes.Equal(key.TokenMAC("a", "b"), again.TokenMAC("a", "b")) {
		t.Error("the same file gives two keys")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".farm*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// Supervisors that start at one moment on one machine agree on one key.
func TestLoadAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "farm.key")
	keys := make([]Key, 16)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], _, err = Load(path); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, k := range keys {
		if !bytes.Equal(k.Public(), keys[0].Public()) {
			t.Fatal("two keys were made")
		}
	}
}

// Files that are not a private key of this user's are refused, with the way out.
func TestLoadRefuses(t *testing.T) {
	good := New().text()
	write := func(text string, mode os.FileMode) func(string) error {
		return func(path string) error {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return err
			}
			return os.Chmod(path, mode)
		}
	}
	for name, c := range map[string]struct {
		make func(path string) error
		want string
	}{
		"readable by others": {write(good, 0o644), "chmod 600"},
		"by the group":       {write(good, 0o640), "chmod 600"},
		"empty":              {write("", 0o600), "holds no farm key"},
		"cut":                {write(good[:30], 0o600), "holds no farm key"},
		"longer":             {write(good+good, 0o600), "holds no farm key"},
		"a FIFO":             {func(path string) error { return syscall.Mkfifo(path, 0o600) }, "no regular file"},
		"a folder":           {func(path string) error { return os.Mkdir(path, 0o700) }, "no regular file"},
		"a link": {func(path string) error {
			return os.Symlink(filepath.Join(filepath.Dir(path), "elsewhere"), path)
		}, "symbolic link"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "farm.key")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			if _, _, err := Load(path); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
	if os.Geteuid() == 0 {
		path := filepath.Join(t.TempDir(), "farm.key")
		if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, 1, 1); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Load(path); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Errorf("a key of another user: %v", err)
		}
	}
}

// Signatures and MACs hold for their key and content alone, and nothing prints the secret.
func TestKey(t *testing.T) {
	a, b := New(), New()
	message := []byte("term")
	if !ed25519.Verify(a.Public(), message, a.Sign(message)) || ed25519.Verify(b.Public(), message, a.Sign(message)) {
		t.Error("a signature is checked wrongly")
	}
	macs := map[string]bool{}
	for _, mac := range [][]byte{a.TokenMAC("1", "2"), a.TokenMAC("", "12"), a.TokenMAC("12", ""), a.TokenMAC("1", "3"),
		b.TokenMAC("1", "2")} {
		macs[string(mac)] = true
	}
	if len(macs) != 5 {
		t.Errorf("of 5 MACs %d differ", len(macs))
	}
	secret := strings.TrimSpace(strings.TrimPrefix(a.text(), prefix))
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		if text := fmt.Sprintf(format, a); text != "farm key" || strings.Contains(text, secret) {
			t.Errorf("%s prints %s", format, text)
		}
	}
}

// A fixed file gives fixed keys: a change of the derivation would end every token and every pinned key.
func TestDerivationStays(t *testing.T) {
	k, err := parse(prefix + "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%x %x", k.Public(), k.TokenMAC("00000000000000aa", "secret"))
	if want := "97cdefde646362b974f649ffab166deed755ee0e42b39fc17fff19fc7dac03dd " +
		"3a9d538af78a435dc913832d1369be40cad43f89b400e4e087eb9f1e69732cd0"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
