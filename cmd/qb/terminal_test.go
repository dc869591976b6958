package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"golang.org/x/sys/unix"
)

// terminal is a program in a pseudo-terminal, and what it has drawn so far.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	file *os.File
	done chan struct{} // closed when the program has ended and all its output was read

	mu     sync.Mutex
	screen *screen
}

// startTerminal starts a program in a terminal of its own.
func startTerminal(t *testing.T, width, height int, env []string, name string, args ...string) *terminal {
	t.Helper()
	file, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, file: file, done: make(chan struct{}), screen: newScreen(width, height)}
	number, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(file.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	x.size(width, height)
	other, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x.cmd = exec.Command(name, args...)
	x.cmd.Env = append(os.Environ(), append([]string{"TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=", "INPUTRC=/dev/null"}, env...)...)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = other, other, other
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = x.cmd.Start()
	_ = other.Close() // the program has its own
	if err != nil {
		t.Fatal(err)
	}
	go x.read()
	t.Cleanup(func() {
		_ = x.cmd.Process.Kill() // it may have ended
		<-x.done
		_ = x.cmd.Wait()
		_ = file.Close()
		if t.Failed() {
			t.Logf("the terminal:\n%s", strings.Join(x.lines(), "\n"))
		}
	})
	return x
}

func (x *terminal) read() {
	defer close(x.done)
	data := make([]byte, 64<<10)
	for {
		n, err := x.file.Read(data)
		x.mu.Lock()
		x.screen.parser.Parse(data[:n])
		x.mu.Unlock()
		if err != nil {
			return // the last program that had the terminal has ended
		}
	}
}

func (x *terminal) send(keys string) {
	x.t.Helper()
	if _, err := x.file.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) size(width, height int) {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.screen.resize(width, height)
	if err := unix.IoctlSetWinsize(int(x.file.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)}); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminal) lines() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.screen.text()
}

// until waits for a screen.
func (x *terminal) until(what string, ok func(lines []string) bool) []string {
	x.t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		lines := x.lines()
		if ok(lines) {
			return lines
		}
		if time.Since(began) > laterLimit/3 {
			x.t.Fatalf("never: %s", what)
		}
	}
}

// untilText waits until a line has the text.
func (x *terminal) untilText(text string) []string {
	x.t.Helper()
	return x.until(text, func(lines []string) bool {
		return slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, text) })
	})
}

// screen is what a terminal shows: enough of one for what the tests run. A sequence that it does not know is noted.
type screen struct {
	parser         *ansi.Parser
	width, height  int
	cells          [][]string // "" behind a wide character
	saved          [][]string // the main screen while the alternate one is shown, and its cursor
	savedX, savedY int
	x, y           int
	wraps          bool // the next character begins a new line
	last           string
	top, bottom    int // of the region that scrolls
	unknown        []string
}

func newScreen(width, height int) *screen {
	s := &screen{parser: ansi.NewParser()}
	s.parser.SetHandler(ansi.Handler{Print: s.print, Execute: s.control, HandleCsi: s.sequence, HandleEsc: s.escape})
	s.resize(width, height)
	return s
}

// resize keeps what fits, as terminals do that do not wrap again.
func (s *screen) resize(width, height int) {
	s.cells = resized(s.cells, width, height)
	if s.saved != nil {
		s.saved = resized(s.saved, width, height)
	}
	s.width, s.height, s.top, s.bottom, s.wraps = width, height, 0, height-1, false
	s.x, s.y = min(s.x, width-1), min(s.y, height-1)
}

func resized(cells [][]string, width, height int) [][]string {
	for len(cells) < height {
		cells = append(cells, nil)
	}
	cells = cells[:height]
	for n := range cells {
		for len(cells[n]) < width {
			cells[n] = append(cells[n], " ")
		}
		cells[n] = cells[n][:width]
	}
	return cells
}

func (s *screen) text() (lines []string) {
	for _, row := range s.cells {
		lines = append(lines, strings.TrimRight(strings.Join(row, ""), " "))
	}
	return lines
}

func (s *screen) print(r rune) {
	width := lipgloss.Width(string(r))
	if width == 0 {
		return
	}
	if s.wraps || s.x+width > s.width {
		s.x, s.wraps = 0, false
		s.down()
	}
	s.last = string(r)
	s.cells[s.y][s.x] = s.last
	if width == 2 {
		s.cells[s.y][s.x+1] = ""
	}
	if s.x += width; s.x >= s.width {
		s.x, s.wraps = s.width-1, true
	}
}

func (s *screen) down() {
	if s.y == s.bottom {
		s.scroll(s.top, 1)
	} else if s.y < s.height-1 {
		s.y++
	}
}

// scroll moves the rows from top to the end of the region up by n, down if n is below 0.
func (s *screen) scroll(top, n int) {
	for ; n > 0; n-- {
		s.cells = slices.Insert(slices.Delete(s.cells, top, top+1), s.bottom, s.blank())
	}
	for ; n < 0; n++ {
		s.cells = slices.Insert(slices.Delete(s.cells, s.bottom, s.bottom+1), top, s.blank())
	}
}

func (s *screen) blank() []string { return resized(nil, s.width, 1)[0] }

func (s *screen) control(b byte) {
	if b != 0x07 {
		s.wraps = false
	}
	switch b {
	case '\r':
		s.x = 0
	case '\n':
		s.down()
	case '\b':
		s.x = max(0, s.x-1)
	case '\t':
		s.x = min(s.width-1, s.x/8*8+8)
	}
}

func (s *screen) escape(cmd ansi.Cmd) {
	if cmd.Final() == 'M' && s.y == s.top {
		s.scroll(s.top, -1)
	} else if cmd.Final() == 'M' {
		s.y--
	}
}

// sequence carries out a control sequence; the ones that only change colours, modes and the like do nothing here.
func (s *screen) sequence(cmd ansi.Cmd, params ansi.Params) {
	at := func(n, missing int) int {
		v, _, ok := params.Param(n, missing)
		if !ok || v == 0 {
			return missing
		}
		return v
	}
	n := at(0, 1)
	if cmd.Prefix() != 0 || cmd.Intermediate() != 0 {
		s.mode(cmd, at(0, 0))
		return
	}
	s.wraps = s.wraps && cmd.Final() == 'm'
	switch cmd.Final() {
	case 'H', 'f':
		s.y, s.x = n-1, at(1, 1)-1
	case 'A':
		s.y -= n
	case 'B', 'e':
		s.y += n
	case 'C', 'a':
		s.x += n
	case 'D':
		s.x -= n
	case 'E':
		s.y, s.x = s.y+n, 0
	case 'F':
		s.y, s.x = s.y-n, 0
	case 'G', '`':
		s.x = n - 1
	case 'd':
		s.y = n - 1
	case 'I':
		s.x = s.x/8*8 + 8*n
	case 'Z':
		s.x = max(0, (s.x+7)/8*8-8*n)
	case 'J', 'K', 'X', '@', 'P', 'b':
		s.erase(cmd.Final(), at(0, 0))
	case 'L', 'M', 'S', 'T':
		top, up := map[bool]int{true: s.top, false: s.y}[cmd.Final() >= 'S'], map[bool]int{true: n, false: -n}[cmd.Final() == 'M' || cmd.Final() == 'S']
		s.scroll(top, up)
	case 'r':
		s.top, s.bottom, s.x, s.y = n-1, at(1, s.height)-1, 0, 0
	case 'm', 'h', 'l', 'n', 'c', 't', 'q', 'u':
	default:
		s.unknown = append(s.unknown, fmt.Sprintf("CSI %c", cmd.Final()))
	}
	s.x, s.y = max(0, min(s.x, s.width-1)), max(0, min(s.y, s.height-1))
}

// mode knows the alternate screen.
func (s *screen) mode(cmd ansi.Cmd, mode int) {
	switch {
	case cmd.Prefix() != '?' || mode != 1049:
	case cmd.Final() == 'h' && s.saved == nil:
		s.saved, s.cells, s.savedX, s.savedY = s.cells, resized(nil, s.width, s.height), s.x, s.y
	case cmd.Final() == 'l' && s.saved != nil:
		s.cells, s.saved, s.x, s.y = s.saved, nil, min(s.savedX, s.width-1), min(s.savedY, s.height-1)
	}
}

func (s *screen) erase(final byte, n int) {
	row := s.cells[s.y]
	clear := func(row []string, from, to int) {
		for i := max(0, from); i < min(to, s.width); i++ {
			row[i] = " "
		}
	}
	switch final {
	case 'J':
		for y := range s.cells {
			if n >= 2 || n == 0 && y > s.y || n == 1 && y < s.y {
				clear(s.cells[y], 0, s.width)
			}
		}
		s.erase('K', n)
	case 'K':
		clear(row, map[int]int{0: s.x}[n], map[int]int{0: s.width, 1: s.x + 1, 2: s.width, 3: s.width}[n])
	case 'X':
		clear(row, s.x, s.x+max(1, n))
	case '@':
		s.cells[s.y] = append(append(append([]string{}, row[:s.x]...), resized(nil, max(1, n), 1)[0]...), row[s.x:]...)[:s.width]
	case 'P':
		s.cells[s.y] = resized([][]string{append(append([]string{}, row[:s.x]...), row[min(s.width, s.x+max(1, n)):]...)}, s.width, 1)[0]
	case 'b':
		r, _ := utf8.DecodeRuneInString(s.last)
		for range max(1, n) {
			s.print(r)
		}
	}
}
