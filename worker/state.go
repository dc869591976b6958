package worker

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"qb/internal/statedir"
	"qb/worker/core"
	"qb/worker/shim"
)

// The state folder:
//
//	id           made once with the folder; another id means that absence proves nothing
//	key, token   who the host is; its token, and the farm that it has joined; see enrol.go, join.go
//	place        machine and inode of the folder: a copy elsewhere is made a new folder
//	term         highest term obeyed, the farm's key, lineages that are obeyed no more
//	lock         held by the one agent that uses the folder
//	i/JOB.N/     an instance: intent (locked by its shim), now (what it runs), room (for one record), s (its
//	             socket), err
//	spool/       ends that no answer has let go
//	log/         output that has not been shipped
//	ends/        ends of a day that were let go, for audits
type stateFolder struct {
	root  string
	id    string
	close func() // and gives the lock free

	copied bool // it was a copy of another worker's, and was made new
}

func openState(root string) (*stateFolder, error) {
	if err := makeFolders(root); err != nil {
		return nil, err
	}
	release, err := statedir.Lock(root, "lock", "stop that one, or set another worker_state")
	if err != nil {
		return nil, err
	}
	s := &stateFolder{root: root, close: release}
	if err := s.adoptFolder(machineID("")); err != nil {
		release()
		return nil, err
	}
	if s.id, err = s.makeID(); err != nil {
		release()
		return nil, err
	}
	return s, nil
}

func (s *stateFolder) makeID() (string, error) {
	path := filepath.Join(s.root, "id")
	var id string
	err := shim.ReadSealed(path, &id)
	if err == nil {
		return id, nil
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, shim.ErrTorn) {
		return "", fmt.Errorf("reading the worker's state id: %w", err)
	}
	id = rand.Text()
	if err := shim.ReplaceSealed(path, id, true); err != nil {
		return "", fmt.Errorf("writing the worker's state id: %w", err)
	}
	return id, nil
}

// intact says whether the folder is still the folder that was opened.
func (s *stateFolder) intact() bool {
	var id string
	return shim.ReadSealed(filepath.Join(s.root, "id"), &id) == nil && id == s.id
}

func (s *stateFolder) term() (r core.TermRecord) {
	if shim.ReadSealed(filepath.Join(s.root, "term"), &r) != nil {
		return core.TermRecord{}
	}
	return r
}

func (s *stateFolder) saveTerm(r core.TermRecord) error {
	return shim.ReplaceSealed(filepath.Join(s.root, "term"), r, true)
}

func (s *stateFolder) spool() shim.Spool { return shim.Spool(filepath.Join(s.root, "spool")) }

func (s *stateFolder) logPath(id logID) string {
	if id.session {
		return shim.SessionLogPath(s.root, id.AttemptID)
	}
	return shim.LogPath(s.root, id.AttemptID)
}

func (s *stateFolder) instanceDir(key core.Key) string {
	return filepath.Join(s.root, "i", key.String())
}

// declare makes an instance's folder, its intent synced to disk. The file it returns holds the lock that
// the shim inherits: there is no moment at which a living shim's lock is free.
func (s *stateFolder) declare(in shim.Intent) (*os.File, error) {
	dir := s.instanceDir(in.Key)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "now"), make([]byte, shim.NowSize), 0o600); err != nil {
		return nil, err
	}
	if err := shim.MakeSpare(dir); err != nil {
		return nil, err
	}
	data, err := shim.Seal(in)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, "intent"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), statedir.SyncFolder(dir), statedir.SyncFolder(filepath.Dir(dir))); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// intents lists what former agents declared on this boot. Folders of another boot, and those whose
// intent was never complete, hence whose shim was never forked, are removed.
func (s *stateFolder) intents(boot string) ([]shim.Intent, error) {
	entries, err := os.ReadDir(filepath.Join(s.root, "i"))
	if err != nil {
		return nil, fmt.Errorf("reading the instances: %w", err)
	}
	var list []shim.Intent
	for _, entry := range entries {
		dir := filepath.Join(s.root, "i", entry.Name())
		var in shim.Intent
		err := shim.ReadSealed(filepath.Join(dir, "intent"), &in)
		if err != nil || in.Boot != boot || in.Key.String() != entry.Name() {
			if lockFree(dir) {
				in.Group.Remove()
				in.Counted.Remove()
				os.RemoveAll(dir)
			}
			continue
		}
		list = append(list, in)
	}
	return list, nil
}

// lockFree says whether no shim holds the instance's lock. An intent that is gone has no holder that
// could be asked, and counts as free.
func lockFree(dir string) bool {
	file, err := os.OpenFile(filepath.Join(dir, "intent"), os.O_RDWR, 0)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func readNow(dir string) (shim.NowRecord, error) {
	var n shim.NowRecord
	err := shim.ReadSealed(filepath.Join(dir, "now"), &n)
	return n, err
}
