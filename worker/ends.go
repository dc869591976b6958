package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"qb/api"
	"qb/worker/core"
	"qb/worker/proc"
)

// endLog keeps the ends of a day for qb audit -workers, in files of lines that are only appended to. A record lies in
// the spool, where it was written with the end, until the supervisor has acknowledged it; then it moves here. A record
// that was moved twice, as the agent died in between, is the same line twice.
type endLog struct {
	dir string

	mu      sync.Mutex
	file    *os.File // the newest; nil: none is open
	size    int64
	began   time.Time
	checked api.ClockCheck // the best one known now
	written api.ClockCheck // the last one in the log
}

// Bounds of the log: about 100,000 ends.
const (
	endFileSize  = 1 << 20
	endFiles     = 24
	endFileFor   = time.Hour
	endsKept     = 25 * time.Hour
	clockEvery   = time.Minute // between two clock checks in the log
	clockDrift   = 0.001       // seconds by which a second since boot may be wrong
	endsPageSize = 1000        // lines
)

// endLine is one line; exactly one member is set.
type endLine struct {
	End   *api.EndRecord  `json:"end,omitempty"`
	Clock *api.ClockCheck `json:"clock,omitempty"`
}

// check takes in that the farm's time was now at some moment between sent and heard.
func (l *endLog) check(boot string, sent, heard core.Moment, now time.Time) {
	if now.IsZero() {
		return // the supervisor did not say
	}
	half := (heard - sent).Seconds() / 2
	c := api.ClockCheck{Boot: boot, At: sent.Seconds() + half, Time: now, Error: half}
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.checked; old.Boot != boot || c.Error <= old.Error+clockDrift*(c.At-old.At) {
		l.checked = c
	}
}

// add appends the record of an acknowledged end.
func (l *endLog) add(r api.EndRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh, err := l.room()
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	out := json.NewEncoder(&lines)
	if c := l.checked; !c.Time.IsZero() &&
		(fresh || c.Boot != l.written.Boot || c.At-l.written.At >= clockEvery.Seconds()) {
		if err := out.Encode(endLine{Clock: &c}); err != nil {
			return fmt.Errorf("encoding a clock check: %w", err)
		}
		l.written = c
	}
	if err := out.Encode(endLine{End: &r}); err != nil {
		return fmt.Errorf("encoding an end record: %w", err)
	}
	n, err := l.file.Write(lines.Bytes())
	l.size += int64(n)
	if err != nil {
		l.close() // what follows a torn line begins in a file of its own
	}
	return err
}

// room opens a new file if there is none or it is large or old enough, and removes what is too old or too much.
func (l *endLog) room() (fresh bool, err error) {
	if l.file != nil && l.size < endFileSize && time.Since(l.began) < endFileFor {
		return false, nil
	}
	l.close()
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return false, err
	}
	numbers, err := l.numbers()
	if err != nil {
		return false, err
	}
	next := 1
	if len(numbers) > 0 {
		next = numbers[len(numbers)-1] + 1
	}
	for n, number := range numbers {
		info, err := os.Stat(l.path(number))
		if n <= len(numbers)-endFiles || err == nil && time.Since(info.ModTime()) > endsKept {
			os.Remove(l.path(number))
		}
	}
	l.file, err = os.OpenFile(l.path(next), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	l.size, l.began = 0, time.Now()
	return true, err
}

func (l *endLog) close() {
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

func (l *endLog) path(number int) string { return filepath.Join(l.dir, strconv.Itoa(number)) }

// numbers are the numbers of the files, oldest first.
func (l *endLog) numbers() (numbers []int, err error) {
	names, err := proc.Names(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n > 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, err
}

// read hands every line of the log to take, oldest first, until it returns false. Lines that are torn are passed over.
func (l *endLog) read(take func(endLine) bool) error {
	numbers, err := l.numbers()
	if err != nil {
		return err
	}
	for _, n := range numbers {
		data, err := os.ReadFile(l.path(n))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // else it became too old just now
			return err
		}
		for text := range bytes.Lines(data) {
			var line endLine
			if json.Unmarshal(text, &line) == nil && !take(line) {
				return nil
			}
		}
	}
	return nil
}
