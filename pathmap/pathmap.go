package pathmap

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Bounds of a map.
const (
	MaxEntries = 64
	maxLength  = 1024 // of each side
)

// Map is entries of which the longest FROM is first. The zero value maps nothing.
type Map struct{ entries []entry }

type entry struct {
	from, to string // from: with slashes, without one at its end
	text     string // as it was written
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
		e := entry{from: cleaned(strings.TrimSpace(from)), to: strings.TrimRight(strings.TrimSpace(to), "/"), text: text}
		switch {
		case !ok || len(text) > 2*maxLength:
			return Map{}, fmt.Errorf("%q is no entry; write FROM=TO, such as /vol/proj=/mnt/proj or P:=/mnt/p", clip(text))
		case !rooted(e.from) || strings.ContainsAny(e.from, "\x00\n\"'"):
			return Map{}, fmt.Errorf("%q: what stands before = must be an absolute path other than /, such as P: or /vol/proj", clip(text))
		case !strings.HasPrefix(e.to, "/") || strings.ContainsAny(e.to, "\x00\n\"'"):
			return Map{}, fmt.Errorf("%q: what stands after = must be an absolute path other than /, such as /mnt/proj", clip(text))
		}
		if n := slices.IndexFunc(m.entries, func(o entry) bool { return same(o.from, e.from) }); n >= 0 {
			return Map{}, fmt.Errorf("%q: %s has another place in the entry %q; leave one out", clip(text), e.from, clip(m.entries[n].text))
		}
		m.entries = append(m.entries, e)
	}
	slices.SortStableFunc(m.entries, func(a, b entry) int { return cmp.Compare(len(b.from), len(a.from)) })
	if err := m.circle(); err != nil {
		return Map{}, err
	}
	return m, nil
}

// Over is entries with those of others whose FROM they have not.
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
			next := slices.IndexFunc(m.entries, func(e entry) bool { return begins(path, e.from, false) })
			if next < 0 {
				break
			}
			if next == first {
				return fmt.Errorf("%q goes in a circle: %s is mapped again", clip(m.entries[first].text), path)
			}
			path = m.entries[next].to + path[len(m.entries[next].from):]
		}
	}
	return nil
}

// Path maps a path.
func (m Map) Path(path string) string {
	for _, e := range m.entries {
		if begins(path, e.from, false) {
			return e.to + rest(e, path[len(e.from):])
		}
	}
	return path
}

// Text maps each path in a text: what begins with a FROM at the start of the text or after white space or a sign that
// separates words.
func (m Map) Text(text string) string {
	if m.Empty() {
		return text
	}
	var out strings.Builder
	for at := 0; at < len(text); {
		e, found := m.at(text, at)
		if !found {
			out.WriteByte(text[at])
			at++
			continue
		}
		tail := text[at+len(e.from):]
		if end := strings.IndexFunc(tail, endsPath); end >= 0 {
			tail = tail[:end]
		}
		out.WriteString(e.to + rest(e, tail))
		at += len(e.from) + len(tail)
	}
	return out.String()
}

// at is the entry whose FROM stands there in a text.
func (m Map) at(text string, at int) (entry, bool) {
	if at > 0 && !separates(text[at-1]) {
		return entry{}, false
	}
	for _, e := range m.entries {
		if begins(text[at:], e.from, true) && !(at > 0 && text[at-1] == ':' && strings.HasPrefix(e.from, "//")) { // http://host
			return e, true
		}
	}
	return entry{}, false
}

// rest is what follows a FROM in a path, which of Windows' paths is written with slashes.
func rest(e entry, tail string) string {
	if windows(e.from) {
		return strings.ReplaceAll(tail, `\`, "/")
	}
	return tail
}

// begins says whether a path begins with the whole parts of from; in a text other signs end it, too.
func begins(path, from string, inText bool) bool {
	if len(path) < len(from) || !same(strings.ReplaceAll(path[:len(from)], `\`, slashOf(from)), from) {
		return false
	}
	return len(path) == len(from) || path[len(from)] == '/' || windows(from) && path[len(from)] == '\\' || inText && endsPath(rune(path[len(from)]))
}

// slashOf is what a backslash in a path stands for: a slash where paths of Windows are mapped, else itself.
func slashOf(from string) string {
	if windows(from) {
		return "/"
	}
	return `\`
}

// same compares two sides; the case of letters means nothing in Windows.
func same(a, b string) bool {
	if windows(a) && windows(b) {
		return strings.EqualFold(a, b)
	}
	return a == b
}

func windows(path string) bool {
	return len(path) >= 2 && path[1] == ':' || strings.HasPrefix(path, "//")
}

func rooted(path string) bool {
	drive := len(path) >= 2 && path[1] == ':' && (path[0]|0x20 >= 'a' && path[0]|0x20 <= 'z') && (len(path) == 2 || path[2] == '/')
	return len(path) <= maxLength && (drive || strings.HasPrefix(path, "/") && strings.Trim(path, "/") != "")
}

// cleaned writes a FROM with slashes and without one at its end.
func cleaned(path string) string {
	if len(path) >= 2 && path[1] == ':' || strings.HasPrefix(path, `\\`) {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	return strings.TrimRight(path, "/")
}

const (
	between = " \t\r\n\"'`;|&<>(){}[],="
	before  = between + ":"
)

// separates says whether a path may begin after the sign.
func separates(sign byte) bool { return strings.IndexByte(before, sign) >= 0 }

// endsPath says whether a path ends before the sign.
func endsPath(sign rune) bool { return strings.ContainsRune(before, sign) }

func clip(text string) string { return text[:min(len(text), 200)] }
