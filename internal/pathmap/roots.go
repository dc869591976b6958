package pathmap

import (
	"iter"
	"strings"
)

// Roots are the paths in a word of a command, or in a line for a shell, that begin at a root of one family of systems:
// P:\ or \\server\share of Windows, or / of the others. A path begins the text, or is behind a sign that ends words or
// paths. Each goes on to the end of the text, as only who knows the path can tell where it ends. //name does not count
// as a path of Windows: some programs, such as Blender, look for it beside the scene. O(bytes of the text).
func Roots(text string, ofWindows bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		for at := range len(text) {
			// the rarest first
			if beginsAtRoot(text[at:], ofWindows) && (at == 0 || is(text[at-1], separates)) && !yield(text[at:]) {
				return
			}
		}
	}
}

func beginsAtRoot(text string, ofWindows bool) bool {
	if !ofWindows {
		return len(text) > 1 && text[0] == '/' && !is(text[1], "/"+separates)
	}
	if !strings.HasPrefix(text, `\\`) {
		return beginsWithDrive(text)
	}
	if skip, share := verbatim(text); skip > 0 {
		return share || beginsWithDrive(text[skip:])
	}
	return beginsWithShare(text[len(`\\`):])
}

func beginsWithDrive(text string) bool {
	return len(text) >= len(`P:\`) && text[1] == ':' && rooted(text[:len("P:")]) && slashes(text[2])
}

// maxServer is how long the name of a server can be: that of a host in the DNS.
const maxServer = 255

// beginsWithShare says whether server\share begins the text.
func beginsWithShare(text string) bool {
	server, share, ok := strings.Cut(text[:min(len(text), maxServer+2)], `\`)
	return ok && server != "" && !strings.ContainsFunc(server, notOfServer) && share != "" &&
		!is(share[0], `\/`+separates)
}

// notOfServer says whether a sign is of no name of a server.
func notOfServer(sign rune) bool {
	return (sign < 'a' || sign > 'z') && (sign < 'A' || sign > 'Z') && (sign < '0' || sign > '9') &&
		!strings.ContainsRune("-._", sign)
}

// Knows says whether a mapped path begins the text, and ends with it or with a word of it.
func (m Map) Knows(text string) bool {
	for n := range m.entries {
		e := &m.entries[n]
		size, _, yes := e.prefix(text)
		if yes && (size == len(text) || e.slash(text[size]) || is(text[size], separates)) {
			return true
		}
	}
	return false
}

// Brief is a path that Roots found, without what follows its first white space or quote, to show it.
func Brief(path string) string {
	if end := strings.IndexAny(path, blanks+`"'`); end > 0 {
		path = path[:end]
	}
	return strings.ToValidUTF8(clip(path), "")
}
