package pathmap

import "strings"

const (
	blanks    = " \t\r\n"
	endsWord  = blanks + "`;|&<>()"       // outside of quotes, in a line for a shell
	lists     = ":;,"                     // between paths
	escaped   = endsWord + `"'{}[]$*?!#~` // they mean something to a shell
	separates = endsWord + lists + `"'{}[]=`
)

func is(sign byte, of string) bool { return strings.IndexByte(of, sign) >= 0 }

// Word maps a word of a command, or a variable. If a path begins it, or is behind = or in a list of paths, that
// path goes to the end of the word or of its entry in a list of : or ;, whatever signs it has. Any other word may be a
// line for a shell: see Line. What comes of it has at most so many bytes: a FROM of 2 bytes may have a TO of a
// thousand.
func (m Map) Word(text string, most int, left *Budget) (string, error) {
	w := writer{m: &m, text: text, most: most, left: left}
	w.word = w.beginsPath()
	if left.Steps < 0 {
		return "", ErrWork
	}
	return w.made()
}

// beginsPath says whether a path that is mapped begins the text, or is behind = or in a list, before any sign that
// is of text.
func (w *writer) beginsPath() bool {
	w.word = true
	for at := 0; at < len(w.text) && !w.m.Empty() && w.left.Steps >= 0; at++ {
		if at > 0 && !is(w.text[at-1], lists+"=") {
			if is(w.text[at-1], separates) {
				break
			}
			continue
		}
		if e, _, _ := w.begins(at, 0, true); e != nil {
			return true
		}
	}
	return false
}

// Line maps each path in a line for a shell, where quotes say what belongs to it. A TO gets the quotes that it needs.
func (m Map) Line(text string, most int, left *Budget) (string, error) {
	w := writer{m: &m, text: text, most: most, left: left, shell: true}
	return w.made()
}

// writer makes the mapped text.
type writer struct {
	m     *Map
	text  string
	most  int
	left  *Budget
	word  bool // it is a path, or a list of them: quotes mean nothing
	shell bool // what is put in gets quotes

	out   strings.Builder
	at    int
	quote byte // that is open
	whole bool // since it was opened there was no blank: what begins now goes on to its end
}

func (w *writer) made() (string, error) {
	if w.m.Empty() {
		w.out.WriteString(w.text)
		w.at = len(w.text)
	}
	begins := true
	for w.at < len(w.text) && w.out.Len() <= w.most {
		if begins {
			e, size, quote := w.begins(w.at, w.quote, w.word || w.whole)
			if w.left.Steps < 0 {
				return "", ErrWork
			}
			if e != nil {
				w.put(e, quote)
				w.at += size
				w.tail(e)
				begins = w.at > 0 && is(w.text[w.at-1], separates)
				continue
			}
		}
		begins = w.pass()
	}
	if w.out.Len() > w.most {
		return "", ErrLong
	}
	return w.out.String(), nil
}

// pass writes a sign that is of no path, and says whether one may begin behind it.
func (w *writer) pass() bool {
	c := w.text[w.at]
	w.keep()
	switch {
	case w.word:
		return is(c, separates)
	case c == '\\' && w.quote != '\'' && w.at < len(w.text):
		w.keep()
		return false
	case c == w.quote:
		w.quote, w.whole = 0, false
	case w.quote == 0 && (c == '"' || c == '\''):
		w.quote, w.whole = c, true
	case w.quote != 0 && !is(c, lists+"="):
		w.whole = w.whole && !is(c, separates)
	}
	return is(c, separates)
}

func (w *writer) keep() {
	w.out.WriteByte(w.text[w.at])
	w.at++
}

// put writes a TO in place of a FROM, behind which another quote may be open.
func (w *writer) put(e *entry, quote byte) {
	special := ""
	switch {
	case !w.shell || w.quote == '\'' || e.windows: // the shell of Windows has no such escapes
	case w.quote == '"':
		special = "$`\\"
	default:
		special = escaped + `\`
	}
	for _, c := range []byte(e.to) {
		if is(c, special) {
			w.out.WriteByte('\\')
		}
		w.out.WriteByte(c)
	}
	if quote != w.quote {
		w.out.WriteByte(quote)
		w.quote = quote
	}
}

// tail writes what follows a FROM in its path.
func (w *writer) tail(e *entry) {
	if e.windows && len(e.to) == len("P:") && (w.at == len(w.text) || !e.slash(w.text[w.at])) {
		w.out.WriteByte('\\') // P: alone is the current folder of that drive
	}
	outside := w.quote == 0 && !w.word // it began outside of quotes
	for w.at < len(w.text) && w.out.Len() <= w.most {
		c, next := w.text[w.at], byte(0)
		if w.at+1 < len(w.text) {
			next = w.text[w.at+1]
		}
		switch {
		case w.word:
			if is(c, ":;") {
				return
			}
		case c == w.quote && !outside, w.quote == 0 && is(c, endsWord), c == ':':
			return
		case !outside && !w.whole && is(c, separates), !outside && c == ';':
			return
		case c == '\\' && w.quote == '"' && is(next, "\"$`"):
			return
		case c == '\\' && w.quote == 0 && (is(next, escaped) || !e.fold) && next != 0:
			w.keep()
			w.keep()
			continue
		case c == w.quote:
			w.quote = 0
			w.keep()
			continue
		case outside && w.quote == 0 && (c == '"' || c == '\''):
			w.quote = c
			w.keep()
			continue
		}
		if e.slash(c) {
			c = '/'
			if e.windows {
				c = '\\'
			}
			w.out.WriteByte(c)
			w.at++
		} else {
			w.keep()
		}
		if is(c, separates) && w.at < len(w.text) {
			if e, _, _ := w.begins(w.at, w.quote, true); e != nil || w.left.Steps < 0 {
				return
			}
		}
	}
}

// begins is the entry whose FROM is there in a text, how much of the text that is, and which quote is open behind
// it; nil: none.
func (w *writer) begins(at int, quote byte, whole bool) (*entry, int, byte) {
	if !w.m.first[w.text[at]] {
		return nil, 0, 0
	}
	for n := range w.m.entries {
		e := &w.m.entries[n]
		size, open, ok := w.from(e, at, quote)
		if !ok || at > 0 && w.text[at-1] == ':' && strings.HasPrefix(e.from, "//") { // http://host
			continue
		}
		if at+size == len(w.text) || e.slash(w.text[at+size]) || w.ends(e, w.text[at+size], open, whole) {
			return e, size, open
		}
	}
	return nil, 0, 0
}

// ends says whether a path that is a FROM alone may end before a sign.
func (w *writer) ends(e *entry, sign, quote byte, whole bool) bool {
	switch {
	case is(sign, lists), !w.word && quote != 0 && sign == quote:
		return true
	case w.word:
		return false
	case quote == 0 && (w.shell || len(e.from) > len("P:")):
		return is(sign, endsWord+`"'`)
	}
	return !whole && len(e.from) > len("P:") && is(sign, separates)
}

// from compares the text with a FROM. Outside of quotes it may have escapes and quotes of its own.
func (w *writer) from(e *entry, at int, quote byte) (size int, open byte, ok bool) {
	text := w.text[at:]
	size, steps, same := e.prefix(text)
	w.left.Steps -= steps
	if same {
		return size, quote, true
	}
	if w.word || quote != 0 || !e.special {
		return 0, 0, false
	}
	n := 0
	size = 0
	for size < len(text) && n < len(e.from) {
		w.left.Steps--
		c := text[size]
		switch {
		case c == open && open != 0:
			open = 0
		case open == 0 && (c == '"' || c == '\''):
			open = c
		case c == '\\' && open == 0 && size+1 < len(text) && text[size+1] == e.from[n] && e.from[n] != '/':
			size++
			n++
		case lower(c) == lower(e.from[n]) && (e.fold || c == e.from[n]) && (open != 0 || !is(c, endsWord)), e.slash(c) &&
			e.from[n] == '/':
			n++
		default:
			return 0, 0, false
		}
		size++
	}
	if size < len(text) && open != 0 && text[size] == open {
		size, open = size+1, 0
	}
	return size, open, n == len(e.from)
}
