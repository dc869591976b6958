package pathmap

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// HostProperty is the property of a host that has the entries of its worker_path_map, as a list of FROM=TO.
const HostProperty = "path_map"

// Bounds of a map.
const (
	MaxEntries = 64
	maxLength  = 1024 // of each side
)

// Map is entries of which the longest FROM is first. The zero value maps nothing.
type Map struct {
	entries []entry
	first   [256]bool // a FROM may begin with that byte
}

type entry struct {
	from, to string // from: with slashes; both without one at their end
	text     string // as it was written
	fold     bool   // from is one of Windows: see alike
	windows  bool   // to is one of Windows, with backslashes
	special  bool   // a shell needs quotes for it
}

// Empty says whether nothing is mapped.
func (m Map) Empty() bool { return len(m.entries) == 0 }

// New reads entries FROM=TO.
func New(entries []string) (Map, error) {
	var m Map
	if len(entries) > MaxEntries {
		return m, fmt.Errorf("%d entries; at most %d", len(entries), MaxEntries)
	}
	for _, text := range entries {
		from, to, ok := strings.Cut(text, "=")
		e := entry{from: cleaned(strings.TrimSpace(from)), to: cleaned(strings.TrimSpace(to)), text: text}
		e.fold, e.special = windows(e.from), strings.ContainsAny(e.from, escaped)
		toRooted := rooted(e.to)
		if e.windows = leadsToWindows(text); e.windows {
			e.to = strings.ReplaceAll(e.to, "/", `\`)
		}
		switch {
		case !ok || len(text) > 2*maxLength:
			return Map{}, fmt.Errorf("%q is no entry; write FROM=TO, such as /vol/proj=/mnt/proj or P:=/mnt/p", clip(text))
		case !rooted(e.from) || strings.ContainsAny(e.from, "\x00\n\"'"):
			return Map{}, fmt.Errorf("%q: what stands before = must be an absolute path other than /, such as P: or /vol/proj",
				clip(text))
		case !toRooted || strings.ContainsAny(e.to, "\x00\n\"'"):
			return Map{}, fmt.Errorf("%q: what stands after = must be an absolute path other than /, such as P: or /mnt/proj",
				clip(text))
		}
		if n := slices.IndexFunc(m.entries, func(o entry) bool { return same(o.from, e.from) }); n >= 0 {
			return Map{}, fmt.Errorf("%q: %s has another place in the entry %q; leave one out", clip(text), e.from,
				clip(m.entries[n].text))
		}
		m.entries = append(m.entries, e)
		m.noteFirst(&e)
	}
	slices.SortStableFunc(m.entries, func(a, b entry) int { return cmp.Compare(len(b.from), len(a.from)) })
	if err := m.circle(); err != nil {
		return Map{}, err
	}
	return m, nil
}

func (m *Map) noteFirst(e *entry) {
	c := e.from[0]
	m.first[c] = true
	if e.fold {
		for _, other := range []byte{lower(c), upper(c), '\\', '/'} {
			m.first[other] = true
		}
	}
}

// ForHost are the entries whose TO is a path of the host's family of systems: a job may have entries for both.
func ForHost(onWindows bool, entries []string) (of []string) {
	for _, text := range entries {
		if leadsToWindows(text) == onWindows {
			of = append(of, text)
		}
	}
	return of
}

// leadsToWindows says whether the TO of an entry is a path of Windows. //mnt is one of the others: a share is written
// with backslashes there.
func leadsToWindows(text string) bool {
	_, to, _ := strings.Cut(text, "=")
	to = strings.TrimSpace(to)
	return windows(to) && !strings.HasPrefix(to, "/") || strings.HasPrefix(to, `\\`)
}

// Over is entries and, after them, the entries of others whose FROM is not in entries.
func Over(entries, others []string) []string {
	from := func(text string) string {
		side, _, _ := strings.Cut(text, "=")
		return cleaned(strings.TrimSpace(side))
	}
	all := slices.Clone(entries)
	for _, o := range others {
		if !slices.ContainsFunc(entries, func(e string) bool { return same(from(e), from(o)) }) {
			all = append(all, o)
		}
	}
	return all
}

// circle finds an entry that, applied again and again, with the others, would never come to an end.
func (m Map) circle() error {
	for first := range m.entries {
		path := m.entries[first].to
		for range m.entries {
			next := slices.IndexFunc(m.entries, func(e entry) bool { return e.leads(path) > 0 })
			if next < 0 {
				break
			}
			if next == first {
				return fmt.Errorf("%q goes in a circle: %s is mapped again", clip(m.entries[first].text), path)
			}
			path = m.entries[next].on(path)
		}
	}
	return nil
}

// leads is how much of a path the whole parts of the entry's FROM are that begin it; 0: they do not.
func (e *entry) leads(path string) int {
	size, _, yes := e.prefix(path)
	if !yes || size < len(path) && !e.slash(path[size]) {
		return 0
	}
	return size
}

// prefix compares the begin of a text with the FROM.
func (e *entry) prefix(text string) (size, steps int, yes bool) {
	from := e.from
	if e.fold {
		skip, share := verbatim(text)
		if skip > 0 && share != strings.HasPrefix(from, "//") {
			return 0, 0, false
		}
		size = skip
		if share {
			from = from[1:]
		}
	}
	if len(text)-size < len(from) {
		return 0, 0, false
	}
	steps, yes = e.alike(text[size:size+len(from)], from)
	return size + len(from), steps, yes
}

// verbatim is how many bytes the prefix \\?\ or \\.\ of a path of Windows has, and whether a share follows: of its two
// backslashes the prefix UNC\ has taken the first.
// Source: https://learn.microsoft.com/en-us/dotnet/standard/io/file-path-formats#dos-device-paths
func verbatim(path string) (skip int, share bool) {
	const device, unc = `\\?\`, `UNC\`
	if len(path) < len(device) || !slashes(path[0], path[1], path[3]) || path[2] != '?' && path[2] != '.' {
		return 0, false
	}
	rest := path[len(device):]
	if len(rest) >= len(unc) && strings.EqualFold(rest[:3], unc[:3]) && slashes(rest[3]) {
		return len(device) + len(unc) - 1, true
	}
	return len(device), false
}

func slashes(signs ...byte) bool {
	return !slices.ContainsFunc(signs, func(c byte) bool { return c != '/' && c != '\\' })
}

// slash says whether the sign is between parts of the entry's paths.
func (e *entry) slash(sign byte) bool { return sign == '/' || e.fold && sign == '\\' }

// Path maps a path. Names in it stay as they are. A NameError says that no file of Windows has one of them.
func (m Map) Path(path string) (string, error) {
	for _, e := range m.entries {
		if size := e.leads(path); size > 0 {
			if e.windows && !e.fold {
				if name := forbidden(path[size:]); name != "" {
					return "", &NameError{path, name}
				}
			}
			return e.on(path), nil
		}
	}
	return path, nil
}

// on is a path that begins with the FROM, with the TO.
func (e *entry) on(path string) string {
	rest := path[e.leads(path):]
	switch {
	case e.windows && rest == "" && len(e.to) == len("P:"):
		return e.to + `\` // P: alone is the current folder of that drive
	case e.windows:
		rest = strings.ReplaceAll(rest, "/", `\`)
	case e.fold:
		rest = strings.ReplaceAll(rest, `\`, "/")
	}
	return e.to + rest
}

// Errors of Word and Line, of which the caller knows what text it was.
var (
	ErrLong = errors.New("the text becomes too long")
	ErrWork = errors.New("too many places in it almost begin with an entry of the path map")
)

// Budget bounds what the texts of one item may cost: comparisons of a byte. Its zero value maps nothing.
type Budget struct{ Steps int }

// alike compares the begin of a path with a FROM as long. In paths of Windows a backslash counts as a slash, and the
// case of letters means nothing.
func (e *entry) alike(path, from string) (steps int, yes bool) {
	for n := range len(path) {
		a, b := path[n], from[n]
		if a == b {
			continue
		}
		if !e.fold {
			return n + 1, false
		}
		if (a | b) >= utf8.RuneSelf {
			return len(path), strings.EqualFold(strings.ReplaceAll(path, `\`, "/"), from)
		}
		if (a != '\\' || b != '/') && lower(a) != lower(b) {
			return n + 1, false
		}
	}
	return len(path), true
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c &^ 0x20
	}
	return c
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// same compares two sides; the case of letters means nothing in Windows.
func same(a, b string) bool {
	if windows(a) && windows(b) {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// Windows says whether an absolute path is one of Windows: on a drive, or a share.
func Windows(path string) bool { return windows(cleaned(path)) }

func windows(path string) bool {
	return len(path) >= 2 && path[1] == ':' || strings.HasPrefix(path, "//")
}

func rooted(path string) bool {
	drive := len(path) >= 2 && path[1] == ':' && (path[0]|0x20 >= 'a' && path[0]|0x20 <= 'z') &&
		(len(path) == 2 || path[2] == '/')
	return len(path) <= maxLength && (drive || strings.HasPrefix(path, "/") && strings.Trim(path, "/") != "")
}

// Absolute says whether a path begins at a root: /, a drive of Windows such as P:\, or a share such as \\server\share.
func Absolute(path string) bool {
	drive := len(path) >= 3 && rooted(path[:2]) && (path[2] == '/' || path[2] == '\\')
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || drive
}

// cleaned writes a FROM with slashes and without one at its end.
func cleaned(path string) string {
	if len(path) >= 2 && path[1] == ':' || strings.HasPrefix(path, `\\`) {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	return strings.TrimRight(path, "/")
}

func clip(text string) string { return text[:min(len(text), 200)] }
