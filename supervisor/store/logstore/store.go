package logstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"qb/api"
	"qb/internal/statedir"
	"qb/supervisor/job/facts"
)

// Store keeps the output of attempts in files named by ids alone, below one folder that os.Root never
// lets a path leave. A file holds frames: a byte for the stream, four for the length, then the bytes. They
// are not synced one by one: the worker keeps its copy, and the offsets mend what a power cut took. While the last
// chunk of an attempt is not here, an empty file beside its log says so.
type Store struct {
	root  *os.Root
	Path  string
	locks [64]sync.Mutex // by attempt, so that two chunks of one never interleave

	mu    sync.Mutex
	given map[ID]givenTo // attempts known to the rows
}

// ID names a log: the output of an attempt or, with Session, what the programs of an instance that began with that
// attempt wrote between two items.
type ID struct {
	facts.AttemptID
	Session bool
}

const (
	logMemory = 100_000   // attempts remembered
	MaxLog    = 256 << 20 // of one attempt; what comes after is dropped
)

// Open opens the folder of logs, and makes it if it is not there.
func Open(folder string) (*Store, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("making the log folder (supervisor_logpath): %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("opening the log folder (supervisor_logpath): %w", err)
	}
	return &Store{root: root, Path: folder, given: map[ID]givenTo{}}, nil
}

// Close lets go of the folder.
func (s *Store) Close() error { return s.root.Close() }

// Name is GROUP/JOB/ITEM.ATTEMPT.log; GROUP is the job's id rounded down to a thousand.
func Name(id facts.AttemptID) string {
	job := int64(id.Job)
	return path.Join(strconv.FormatInt(job/1000*1000, 10), strconv.FormatInt(job, 10),
		fmt.Sprintf("%d.%d.log", id.Item, id.Number))
}

// idOf is the attempt whose file has this name, or that the file of a session is named by.
func idOf(name string) (id facts.AttemptID, ours bool) {
	var group int64
	name = strings.Replace(name, "/"+sessions+"/", "/", 1)
	n, _ := fmt.Sscanf(name, "%d/%d/%d.%d.", &group, &id.Job, &id.Item, &id.Number)
	return id, n == 4
}

// PictureName is the file with the picture of an attempt's output.
func PictureName(id facts.AttemptID) string { return strings.TrimSuffix(Name(id), ".log") + ".jpg" }

// MoreName is the file that is there while more of the attempt's output is to come.
func MoreName(id facts.AttemptID) string { return moreName(Name(id)) }

func moreName(name string) string { return strings.TrimSuffix(name, ".log") + ".more" }

// Partial says that a log is here and that its last chunk is not.
func (s *Store) Partial(id facts.AttemptID) bool {
	_, err := s.root.Lstat(MoreName(id))
	return err == nil
}

// Append writes the part of data that is missing at the file's end, and returns the file's size. Data beyond the end is
// rejected: the worker continues at the returned size. Beyond MaxLog data is dropped, but counted in the size, so that
// the worker can continue.
func (s *Store) Append(id facts.AttemptID, offset int64, data []byte, final bool) (int64, error) {
	return s.append(Name(id), id, offset, data, final)
}

func (s *Store) append(name string, id facts.AttemptID, offset int64, data []byte, final bool) (int64, error) {
	lock := &s.locks[(uint64(id.Job)*31+uint64(id.Item))%uint64(len(s.locks))]
	lock.Lock()
	defer lock.Unlock()
	f, err := s.open(name)
	if err != nil {
		return 0, s.refused(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, s.refused(err)
	}
	size, end := info.Size(), offset+int64(len(data))
	if size < MaxLog && offset > size {
		return size, nil
	}
	if missing := min(end, MaxLog) - size; missing > 0 {
		if _, err := f.WriteAt(data[size-offset:size-offset+missing], size); err != nil {
			return 0, s.refused(err)
		}
	}
	if final {
		if err := s.root.Remove(moreName(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, s.refused(err)
		}
	}
	return max(size, end), nil
}

func (s *Store) open(name string) (*os.File, error) {
	f, err := s.root.OpenFile(name, os.O_WRONLY, 0)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := s.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return nil, err
	}
	if err := s.root.WriteFile(moreName(name), nil, 0o600); err != nil {
		return nil, err
	}
	return s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o600)
}

// refused tells a full disk from other failures; both are to be tried again later.
func (s *Store) refused(err error) error {
	if statedir.Full(err) {
		return api.Errorf(api.KindUnavailable, "the supervisor's log disk is full: free some space under %s", s.Path)
	}
	return fmt.Errorf("writing a log: %w", err)
}

// Read opens an attempt's log; nil if there is none yet.
func (s *Store) Read(id facts.AttemptID) (*os.File, error) {
	f, err := s.root.Open(Name(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening a log: %w", err)
	}
	return f, nil
}

// givenTo is whose worker may ship a log, and until when that need not be looked up again.
type givenTo struct {
	hostKey  string
	instance int // of the attempt
	until    time.Time
}

// Known reports whether Learn has registered this worker as the source of the log, and for which instance.
func (s *Store) Known(id ID, hostKey string) (instance int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.given[id]
	return g.instance, ok && g.hostKey == hostKey && time.Now().Before(g.until)
}

// Learn remembers for a while whose worker may ship a log.
func (s *Store) Learn(id ID, instance int, hostKey string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.given) >= logMemory {
		s.given = map[ID]givenTo{}
	}
	s.given[id] = givenTo{hostKey, instance, until}
}

// Numbers returns the highest job and attempt numbers among the logs, ignoring numbers that are not below the given
// maximum.
func (s *Store) Numbers(mostJob int64, mostAttempt int) (job int64, attempt int, err error) {
	err = fs.WalkDir(s.root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if id, ours := idOf(path); ours {
			if int64(id.Job) < mostJob {
				job = max(job, int64(id.Job))
			}
			if id.Number < mostAttempt {
				attempt = max(attempt, id.Number)
			}
		}
		return nil
	})
	return job, attempt, err
}
