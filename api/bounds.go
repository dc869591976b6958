package api

import (
	"unicode/utf8"
)

// Bounds of what an item is made of. The supervisor refuses what is beyond them, and agents and shims are built to
// carry what is within them, whatever its characters. The rest of an item (its flights, files and expressions, a few
// hundred kilobytes) and what path maps and tokens make of all this has room in MaxOrder.
const (
	MaxCommand   = 1 << 20 // bytes of all arguments
	MaxArguments = 16_384
	MaxEnv       = 1 << 20 // bytes of all variables
	MaxVariables = 16_384

	// MaxWord is the longest argument, and the longest NAME=VALUE of an environment, that a process can have on Linux
	// (MAX_ARG_STRLEN, without its NUL).
	MaxWord = 32*4096 - 1
	// MaxProcess bounds the words of an item's process: their bytes, and ProcessWord more for each. The kernel has room
	// for a quarter of the stack that a process may have, which is 2 MiB as hosts are usually set up. What a host adds
	// to a job's variables takes the rest: nine tokens, of up to 4 KiB except for the list of all numbers, and the owner's
	// own.
	MaxProcess  = 2<<20 - 64<<10
	ProcessWord = 1 + 8 // its NUL, and a pointer to it
	// MaxPath is the longest path that Linux takes (PATH_MAX, without its NUL), and MaxFileName the longest name in one
	// (NAME_MAX).
	MaxPath     = 4095
	MaxFileName = 255
	// MaxSpec bounds command and environment in JSON, where a control character takes 6 bytes. What is all quotes and line
	// feeds, which take 2, fits.
	MaxSpec = 2*(MaxCommand+MaxEnv) + 4*(MaxArguments+MaxVariables)
	// MaxOrder bounds the message that hands an item to its shim, in JSON. Shims outlive their agent: from the first
	// release on it must never grow beyond what a running shim reads.
	MaxOrder = 8 << 20
	// MaxOutputs is how many files of one item are looked for.
	MaxOutputs = 10_000
	// MaxResult bounds what a program that stays loaded may report of an item, in bytes of JSON.
	MaxResult = 4096
	// MaxReason bounds why an attempt ended, in bytes.
	MaxReason = 4096
)

// JSONSize is how many bytes a text takes in JSON that does not escape HTML, with its quotes.
func JSONSize(s string) int {
	size := len(s) + 2
	for at := 0; at < len(s); {
		c := s[at]
		if c < utf8.RuneSelf {
			size += escape(c)
			at++
			continue
		}
		r, width := utf8.DecodeRuneInString(s[at:])
		if r == '\u2028' || r == '\u2029' || r == utf8.RuneError && width == 1 {
			size += 6 - width
		}
		at += width
	}
	return size
}

// escape is how many bytes more than one an ASCII character takes.
func escape(c byte) int {
	switch {
	case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
		return 1
	case c < ' ':
		return 5
	}
	return 0
}
