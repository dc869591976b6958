package logstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"strings"

	"qb/supervisor/job/facts"
)

// Remove deletes logs with their companion files, then the folders that become empty. Missing files are not counted.
func (s *Store) Remove(ids []facts.AttemptID) (files int, err error) {
	for _, id := range ids {
		err := s.root.Remove(Name(id))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, fmt.Errorf("removing a log: %w", err)
		}
		if err == nil {
			files++
		}
		for _, beside := range []string{MoreName(id), PictureName(id), unfinished(id)} {
			_ = s.root.Remove(beside) // rarely there
		}
	}
	if len(ids) > 0 {
		s.prune(path.Dir(Name(ids[0])))
	}
	return files, nil
}

// RemoveSome deletes at most so many logs of a job that never runs again; fewer say that none is left.
func (s *Store) RemoveSome(job facts.JobID, most int) (files int, err error) {
	folder := path.Dir(Name(facts.AttemptID{Job: job}))
	names, err := s.Names(folder, most)
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		if err := s.root.RemoveAll(path.Join(folder, name)); err != nil { // sessions have a folder of their own
			return files, fmt.Errorf("removing a log: %w", err)
		}
		files++
	}
	s.prune(folder)
	return files, nil
}

// Names are names in a folder of logs, at most so many; below 0: all.
func (s *Store) Names(folder string, most int) ([]string, error) {
	f, err := s.root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for logs: %w", err)
	}
	defer f.Close()
	names, err := f.Readdirnames(most)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("looking for logs: %w", err)
	}
	return names, nil
}

// prune takes a job's folder away, and its group's, if they are empty. The next log makes them again.
func (s *Store) prune(folder string) {
	if s.root.Remove(folder) == nil {
		_ = s.root.Remove(path.Dir(folder)) // others may be in it
	}
}

// Last is the number of the latest attempt of an item of which a log or a picture is here, 0 if there is none: of a job
// whose attempts have no rows any more.
func (s *Store) Last(job facts.JobID, item facts.ItemNo) (int, error) {
	folder, last := path.Dir(Name(facts.AttemptID{Job: job})), 0
	names, err := s.Names(folder, -1)
	for _, name := range names {
		if id, ours := idOf(path.Join(folder, name)); ours && id.Item == item &&
			(strings.HasSuffix(name, ".log") || strings.HasSuffix(name, ".jpg")) {
			last = max(last, id.Number)
		}
	}
	return last, err
}

// Sizes adds up what each job's logs take on the disk.
func (s *Store) Sizes() (map[facts.JobID]int64, error) {
	sums := map[facts.JobID]int64{}
	err := fs.WalkDir(s.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // it may just have gone
		}
		id, ours := idOf(name)
		if info, err := d.Info(); ours && err == nil {
			sums[id.Job] += info.Size()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("adding up logs: %w", err)
	}
	return sums, nil
}

// Forget lets go of what is known of jobs that are gone, so that no more of their output is taken.
func (s *Store) Forget(jobs []facts.JobID) {
	gone := map[facts.JobID]bool{}
	for _, id := range jobs {
		gone[id] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.given, func(id ID, _ givenTo) bool { return gone[id.Job] })
}
