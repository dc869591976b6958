package shim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/internal/statedir"
	"qb/worker/core"
	"qb/worker/proc"
)

// A sealed file is one line "CRC32C LENGTH" and a body of that length. A file that was torn, emptied or
// cut at any byte does not open.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var ErrTorn = errors.New("the file is torn or empty")

func Seal(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding a record: %w", err)
	}
	return append(fmt.Appendf(nil, "%08x %d\n", crc32.Checksum(body, castagnoli), len(body)), body...), nil
}

func unseal(data []byte, v any) error {
	head, body, _ := bytes.Cut(data, []byte("\n"))
	var sum uint32
	var length int
	if _, err := fmt.Sscanf(string(head), "%08x %d", &sum, &length); err != nil {
		return ErrTorn
	}
	if length < 0 || length > len(body) || crc32.Checksum(body[:length], castagnoli) != sum {
		return ErrTorn
	}
	if err := json.Unmarshal(body[:length], v); err != nil {
		return ErrTorn
	}
	return nil
}

func ReadSealed(path string, v any) error {
	data, err := proc.ReadFile(path)
	if err != nil {
		return err
	}
	return unseal(data, v)
}

// ReplaceSealed writes beside and renames, so that a reader sees the old or the new, never a part. With
// sync it also survives a power cut.
func ReplaceSealed(path string, v any, sync bool) error {
	data, err := Seal(v)
	if err != nil {
		return err
	}
	if sync {
		return statedir.ReplaceWith(path, 0o600, data)
	}
	temp := path + ".tmp"
	file, err := OpenFile(temp, unix.O_CREAT|unix.O_TRUNC|unix.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err == nil {
		err = unix.Rename(temp, path)
	}
	if err != nil {
		os.Remove(temp)
	}
	return err
}

// OpenFile opens a regular file without asking the kernel whether it can be polled: package os makes five system calls
// for that.
func OpenFile(path string, how int) (*os.File, error) {
	for {
		fd, err := unix.Open(path, how|unix.O_CLOEXEC, 0o600)
		switch err {
		case nil:
			return os.NewFile(uintptr(fd), path), nil
		case unix.EINTR:
		default:
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// Spool is the folder of ends that no answer has let go. Records are not synced to disk: a killed
// process loses no written page, and a power cut means another boot, which ends all attempts anyway.
type Spool string

type Spooled struct {
	Boot     string       `json:"boot"`
	Finished api.Finished `json:"finished"`
	Started  core.Moment  `json:"started,omitempty"` // 0: nothing of it ran
	Ended    core.Moment  `json:"ended,omitempty"`
	Frozen   core.Moment  `json:"frozen,omitempty"` // since when it was stopped, 0: it did not
}

func AttemptName(id api.AttemptID) string { return fmt.Sprintf("%d-%d-%d", id.Job, id.Item, id.Number) }

func AttemptOf(name string) (id api.AttemptID, ok bool) {
	n, err := fmt.Sscanf(name, "%d-%d-%d", &id.Job, &id.Item, &id.Number)
	return id, err == nil && n == 3 && AttemptName(id) == name
}

func (s Spool) Path(id api.AttemptID) string { return filepath.Join(string(s), AttemptName(id)) }

func (s Spool) Put(r Spooled) error {
	return ReplaceSealed(s.Path(r.Finished.Attempt), r, false)
}

// A room is set aside beside each instance's shim: the space for one record, so that on a disk that is full
// to the last byte the end of its item can still be recorded. The record is written over it, and it becomes the
// record by renaming; a disk that copies on each write may have no space for that either.
const (
	SpareName   = "room"
	roomSize    = 4096 + api.MaxResult
	SpareReason = 1024 // bytes that a reason may take there
)

// MakeSpare does nothing where there is one.
func MakeSpare(dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, SpareName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, roomSize))
	if err = errors.Join(err, file.Close()); err != nil {
		os.Remove(file.Name())
	}
	return err
}

// PutOrSpare puts the record of an instance's item; if that fails, as on a full disk, it uses the space that PutSpare
// has in the instance's folder, and says so.
func (s Spool) PutOrSpare(dir string, r Spooled) (spared bool, err error) {
	err = s.Put(r)
	if err != nil && s.PutSpare(dir, r) == nil {
		return true, nil
	}
	return false, err
}

// PutSpare is put without any need of space. A reason takes what room there is, as it is written: some characters are
// six.
func (s Spool) PutSpare(dir string, r Spooled) error {
	if f := &r.Finished; len(f.Reason) > SpareReason {
		f.Reason = strings.ToValidUTF8(f.Reason[:SpareReason], "") + " …"
	}
	r.Finished.Highlights, r.Finished.OutputPaths = nil, nil // there is no room for them
	data, err := Seal(r)
	for err == nil && len(data) > roomSize && r.Finished.Reason != "" {
		r.Finished.Reason = strings.ToValidUTF8(r.Finished.Reason[:len(r.Finished.Reason)/2], "")
		data, err = Seal(r)
	}
	if err == nil && len(data) > roomSize && r.Finished.Result != nil { // signs that take six bytes each
		r.Finished.Result, r.Finished.Reason = nil, "the worker's disk is full, and the item's result could not be kept"
		data, err = Seal(r)
	}
	if err != nil {
		return err
	}
	if len(data) > roomSize {
		return fmt.Errorf("a record of %d bytes does not fit into the %d that are set aside", len(data), roomSize)
	}
	room := filepath.Join(dir, SpareName)
	file, err := os.OpenFile(room, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(data, 0)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(room, s.Path(r.Finished.Attempt))
}

// Get reads one record; fs.ErrNotExist if there is none, ErrTorn if it cannot be trusted.
func (s Spool) Get(id api.AttemptID) (api.Finished, error) {
	var r Spooled
	err := ReadSealed(s.Path(id), &r)
	if err == nil && r.Finished.Attempt != id {
		err = ErrTorn
	}
	return r.Finished, err
}

func (s Spool) Drop(id api.AttemptID) error {
	unix.Unlink(s.Path(id) + ".tmp") // of a writer that was killed
	if err := unix.Unlink(s.Path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &os.PathError{Op: "unlink", Path: s.Path(id), Err: err}
	}
	return nil
}

// Load reads all records of this boot. Those of another boot are removed: a new boot ends every attempt
// of the old one. Torn ones are put aside and named in torn; the ones that earlier starts put aside are removed.
func (s Spool) Load(boot string) (records []api.Finished, torn []string, err error) {
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the spool: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		path := filepath.Join(string(s), name)
		switch filepath.Ext(name) {
		case ".torn":
			os.Remove(path)
			continue
		case ".tmp":
			continue
		}
		id, ok := AttemptOf(name)
		var r Spooled
		if readErr := ReadSealed(path, &r); !ok || readErr != nil || r.Finished.Attempt != id {
			torn = append(torn, name)
			os.Rename(path, path+".torn")
			continue
		}
		if r.Boot != boot {
			os.Remove(path)
			continue
		}
		records = append(records, r.Finished)
	}
	return records, torn, nil
}
