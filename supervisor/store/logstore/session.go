package logstore

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"qb/supervisor/job/facts"
)

// sessions is the folder in a job's folder with the logs of its sessions: few, beside perhaps a million of items.
const sessions = "sessions"

// sessionsOf is that folder of a job.
func sessionsOf(job facts.JobID) string {
	return path.Join(path.Dir(Name(facts.AttemptID{Job: job})), sessions)
}

// AppendSession is Append for the log of an instance's programs that began with that attempt.
func (s *Store) AppendSession(first facts.AttemptID, instance int, offset int64, data []byte,
	final bool) (int64, error) {
	name := path.Join(sessionsOf(first.Job), fmt.Sprintf("%d.%d.%d.log", first.Item, first.Number, instance))
	return s.append(name, first, offset, data, final)
}

// Sessions returns the names of the logs of an instance's sessions, the latest last by when it was written to.
func (s *Store) Sessions(job facts.JobID, instance int) (names []string, err error) {
	folder := sessionsOf(job)
	all, err := s.Names(folder, -1)
	written := map[string]int64{}
	for _, name := range all {
		if !strings.HasSuffix(name, fmt.Sprintf(".%d.log", instance)) {
			continue
		}
		name = path.Join(folder, name)
		if info, err := s.root.Lstat(name); err == nil { // else it has just gone
			written[name] = info.ModTime().UnixNano()
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(written[a], written[b]), strings.Compare(a, b))
	})
	return names, err
}

// ReadSession opens a log that Sessions has named; nil if it has gone.
func (s *Store) ReadSession(name string) (*os.File, error) {
	f, err := s.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("opening the log of a session: %w", err)
	}
	return f, nil
}

// RemoveSessions deletes the logs of a job's sessions.
func (s *Store) RemoveSessions(job facts.JobID) error {
	if err := s.root.RemoveAll(sessionsOf(job)); err != nil {
		return fmt.Errorf("removing the logs of sessions: %w", err)
	}
	s.prune(path.Dir(sessionsOf(job)))
	return nil
}
