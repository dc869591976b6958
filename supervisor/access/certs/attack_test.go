package certs

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qb/api/pin"
)

// thiefOf is a supervisor of somebody who has read a CA's key: a certificate of his own that it has signed.
func thiefOf(t *testing.T, ca *authority) *Own {
	t.Helper()
	thief := open(t, t.TempDir())
	thief.ca = ca
	must(t, thief.renew())
	return thief
}

// showing is a server with a leaf and whatever certificates it likes beside it.
func showing(leaf *tls.Certificate, beside ...*x509.Certificate) *tls.Config {
	pair := *leaf
	pair.Certificate = [][]byte{leaf.Certificate[0]}
	for _, c := range beside {
		pair.Certificate = append(pair.Certificate, c.Raw)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

// TestAttackRotation: clients that have connected since the overlap of a rotation reject the old CA's key, whatever an
// attacker signs with it. An attacker without a key is always rejected. A rejected connection changes nothing that the
// client trusts.
func TestAttackRotation(t *testing.T) {
	state := t.TempDir()
	o := open(t, state)
	stolen := o.ca
	worker := pin.NewSet([]string{o.Fingerprint()}, nil)
	must(t, shake(t, o.Config(), worker.Config()))
	_, err := Rotate(state, time.Hour)
	must(t, err)
	o.looked = time.Time{}
	must(t, shake(t, o.Config(), worker.Config()))
	between := worker.Pins()

	keyless, all := open(t, t.TempDir()), append([]*x509.Certificate{o.ca.cert}, o.ca.former...)
	successor, err := keyless.ca.successor(time.Now(), time.Hour)
	must(t, err)
	for what, server := range map[string]*tls.Config{
		"all certificates beside his own":     showing(keyless.leaf, all...),
		"his own CA first":                    showing(keyless.leaf, append([]*x509.Certificate{keyless.ca.cert}, all...)...),
		"a successor that nobody vouches for": showing(thiefOf(t, successor).leaf, append(successor.former, all...)...),
		"more than can be looked at":          showing(keyless.leaf, slices.Repeat(all, 5)...),
	} {
		if shake(t, server, worker.Config()) == nil || !slices.Equal(worker.Pins(), between) {
			t.Errorf("without a key, %s: %v is trusted after %v", what, worker.Pins(), between)
		}
	}

	o.now = func() time.Time { return time.Now().Add(2 * time.Hour) } // the overlap is over
	must(t, shake(t, o.Config(), worker.Config()))
	later := worker.Pins()
	if !slices.Equal(later, []string{o.Fingerprint()}) {
		t.Fatalf("%v is trusted after the overlap", later)
	}
	thief := thiefOf(t, stolen)
	long, err := stolen.successor(time.Now(), authorityLife)
	must(t, err)
	for what, server := range map[string]*tls.Config{
		"the former CA":                    thief.Config(),
		"the former CA beside the new one": showing(thief.leaf, stolen.cert, o.ca.cert),
		"all of the rotation":              showing(thief.leaf, all...),
		"a successor of his own": showing(thiefOf(t, long).leaf,
			append(append([]*x509.Certificate{long.cert}, long.former...), o.ca.cert)...),
	} {
		if shake(t, server, worker.Config()) == nil || !slices.Equal(worker.Pins(), later) {
			t.Errorf("with the former key, %s: %v is trusted after %v", what, worker.Pins(), later)
		}
	}
}

// TestAttackRotatedFile: a ca.pem that is broken, of another key, a link or a FIFO leaves a running supervisor with the
// CA that it has, and rotations at the same time make one CA after the other.
func TestAttackRotatedFile(t *testing.T) {
	state := t.TempDir()
	o := open(t, state)
	name, before := filepath.Join(folderOf(state), "ca.pem"), o.Fingerprint()
	good, err := os.ReadFile(name)
	must(t, err)
	other := open(t, t.TempDir())
	theirs, err := other.ca.text()
	must(t, err)
	for what, spoil := range map[string]func() error{
		"cut off":         func() error { return os.WriteFile(name, good[:len(good)/2], 0o600) },
		"empty":           func() error { return os.WriteFile(name, nil, 0o600) },
		"of another key":  func() error { return os.WriteFile(name, slices.Concat(good[:len(good)/2], theirs), 0o600) },
		"open to others":  func() error { return os.WriteFile(name, theirs, 0o600) },
		"a link":          func() error { return os.Symlink(filepath.Join(folderOf(state), "other"), name) },
		"gone":            func() error { return nil },
		"a FIFO":          func() error { return unix.Mkfifo(name, 0o600) },
		"a million bytes": func() error { return os.WriteFile(name, slices.Repeat([]byte("x"), 1<<20), 0o600) },
	} {
		must(t, os.Remove(name))
		must(t, spoil())
		if what == "open to others" {
			must(t, os.Chmod(name, 0o666))
		}
		o.looked = time.Time{}
		if err := shake(t, o.Config(), pin.NewSet([]string{before}, nil).Config()); err != nil || o.Fingerprint() != before {
			t.Errorf("%s: CA %s after %s, %v", what, o.Fingerprint(), before, err)
		}
		must(t, os.RemoveAll(name))
		must(t, os.WriteFile(name, good, 0o600))
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := Rotate(state, time.Hour); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	o.looked = time.Time{}
	must(t, shake(t, o.Config(), pin.NewSet([]string{before}, nil).Config()))
	if f, err := Look(state); err != nil || len(f.Former) != 4 || f.Fingerprint == before {
		t.Errorf("after 4 rotations: %+v, %v", f, err)
	}
}
