package shim

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"qb/api"
	"qb/internal/patterns"
	"qb/worker/proc"
)

// codeProcessesLeft is of an item that is done, and whose processes had to be ended.
const codeProcessesLeft = "processes_left"

// Bounds of what is said of them.
const (
	mostNamed = 4
	longName  = 15 // as the kernel has it
)

// leftBehind says what still runs of a tree; "" if nothing does.
func leftBehind(running []proc.Process) string {
	var names []string
	for _, p := range running[:min(len(running), mostNamed)] {
		comm, _ := proc.ReadFile(fmt.Sprintf("/proc/%d/comm", p.PID)) // none if it has just ended
		names = append(names, patterns.Clean(string(comm), longName))
	}
	switch count := len(running); {
	case count == 0:
		return ""
	case count == 1:
		return fmt.Sprintf("a process that the item left behind was ended (%s)", names[0])
	case count > mostNamed:
		names = append(names, "…")
	}
	return fmt.Sprintf("%d processes that the item left behind were ended (%s)", len(running), strings.Join(names, ", "))
}

// tellLeft says in the log, and of the item's own command in its end, what had to be ended.
func (s *shim) tellLeft(it *shimItem, text string, f *api.Finished) {
	if text == "" {
		return
	}
	addNote(LogPath(s.root, it.order.Attempt), text)
	switch {
	case it.stage() != nil:
	case f.Reason != "":
		f.Reason += "; " + text
	case Done(*f):
		f.Code, f.Reason = codeProcessesLeft, text
	case f.Outcome == "exit" && f.ExitCode != nil:
		f.Reason = fmt.Sprintf("exit status %d; %s", *f.ExitCode, text)
	case f.Outcome == "signal" && f.Signal != nil:
		f.Reason = fmt.Sprintf("signal %d; %s", *f.Signal, text)
	}
}

// addNote puts a line of qb's own behind a log whose pump has ended. If the disk is full, the end of the attempt has it
// alone.
func addNote(path, text string) {
	log, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return
	}
	piece := fmt.Appendf(make([]byte, HeaderSize), "[qb: %s]\n", text)
	piece[0] = StreamErr
	binary.LittleEndian.PutUint32(piece[1:HeaderSize], uint32(len(piece)-HeaderSize))
	if _, err := log.WriteAt(piece, info.Size()); err != nil {
		log.Truncate(info.Size())
	}
}
