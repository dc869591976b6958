package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Units of bytes.
const (
	Byte = int64(1)
	KiB  = 1024 * Byte
	MiB  = 1024 * KiB
	GiB  = 1024 * MiB
	TiB  = 1024 * GiB
	PiB  = 1024 * TiB
)

// MaxBytes is the largest size that is read: 8 PiB, which is exact as a floating point number too.
const MaxBytes = 8 * PiB

var byteUnits = []struct {
	name  string
	bytes int64
}{{"B", Byte}, {"KiB", KiB}, {"MiB", MiB}, {"GiB", GiB}, {"TiB", TiB}, {"PiB", PiB}}

// Size writes bytes for people, to three digits at most: 1.5 GiB.
func Size(bytes int64) string {
	v, u := float64(bytes), 0
	for math.Abs(v) >= 1023.5 && u < len(byteUnits)-1 {
		v, u = v/1024, u+1
	}
	if digits := strconv.FormatFloat(v, 'f', 1, 64); math.Abs(v) < 99.95 && !strings.HasSuffix(digits, ".0") {
		return digits + " " + byteUnits[u].name
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " " + byteUnits[u].name
}

// ExactSize writes bytes in the largest unit that leaves no fraction, 1536MiB; ParseSize reads it back.
func ExactSize(bytes int64) string { return exact(bytes, "") }

// ExactText is ExactSize as sentences write it: 1536 MiB.
func ExactText(bytes int64) string { return exact(bytes, " ") }

func exact(bytes int64, blank string) string {
	u := 0
	for bytes != 0 && u+1 < len(byteUnits) && bytes%byteUnits[u+1].bytes == 0 {
		u++
	}
	return strconv.FormatInt(bytes/byteUnits[u].bytes, 10) + blank + byteUnits[u].name
}

// ParseSize reads a size such as 4GiB, 4GB, 512M, 1.5 TiB or 7B, in bytes. Units are powers of 1024 in any case of
// letters; a number without a unit is a number of the unit alone, which is Byte or MiB.
func ParseSize(text string, alone int64) (bytes int64, err error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRight(text, "kKmMgGtTpPiIbB")
	unit, known := unitOf(text[len(digits):], alone)
	digits = strings.TrimRight(digits, " ")
	number, err := strconv.ParseFloat(digits, 64)
	switch {
	case err != nil || !known || strings.Trim(digits, "+-.0123456789") != "" || len(digits) > 40:
		meant := "MiB"
		if alone == Byte {
			meant = "bytes"
		}
		return 0, fmt.Errorf("%s is no size; write 4GiB, 512MiB or 1.5TiB (a number alone is in %s)", Quoted(text), meant)
	case number < 0:
		return 0, fmt.Errorf("size %s is negative; write a positive one such as 4GiB", Quoted(text))
	case number*float64(unit) > float64(MaxBytes):
		return 0, fmt.Errorf("size %s is more than 8PiB; write a smaller one such as 4GiB", Quoted(text))
	}
	return int64(math.Round(number * float64(unit))), nil
}

// unitOf is the bytes of a unit as people write it: g, GB and GiB are the same.
func unitOf(text string, alone int64) (int64, bool) {
	if text == "" {
		return alone, true
	}
	for _, unit := range byteUnits {
		first := unit.name[:1]
		if strings.EqualFold(text, unit.name) || strings.EqualFold(text, first) || unit.bytes > 1 &&
			strings.EqualFold(text, first+"B") {
			return unit.bytes, true
		}
	}
	return 0, false
}

// Quoted quotes a text for a message, shortened if it is long.
func Quoted(text string) string {
	const most = 60
	if len(text) <= most {
		return strconv.Quote(text)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strconv.Quote(text[:cut]) + "…"
}

// setting writes a size as qb.conf does, which has no unit for the 0 that turns something off.
func setting(bytes int64) string {
	if bytes == 0 {
		return "0"
	}
	return ExactSize(bytes)
}

func readSetting(into *int64, text []byte, alone int64) error {
	n, err := ParseSize(string(text), alone)
	if err == nil {
		*into = n
	}
	return err
}

// Bytes is a size as a key of qb.conf whose number alone is in bytes.
type Bytes int64

func (b Bytes) String() string { return setting(int64(b)) }

// MarshalText is String.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a size; a number alone is in bytes.
func (b *Bytes) UnmarshalText(text []byte) error { return readSetting((*int64)(b), text, Byte) }

// MiBytes is a size as a key of qb.conf whose number alone is in MiB.
type MiBytes int64

func (b MiBytes) String() string { return setting(int64(b)) }

// MarshalText is String.
func (b MiBytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a size; a number alone is in MiB.
func (b *MiBytes) UnmarshalText(text []byte) error { return readSetting((*int64)(b), text, MiB) }

// Output is a file of -validate, PATH, PATH:SIZE, PATH:new or PATH:SIZE:new. One without a size has at least a byte.
type Output struct {
	Path  string
	Least int64 // bytes
	New   bool  // written by the attempt
}

// ParseOutput reads an entry of -validate.
func ParseOutput(text string) (o Output) {
	o.Path, o.New = strings.CutSuffix(text, ":new")
	if o.Path == "" {
		return Output{Path: text, Least: 1}
	}
	o.Least = 1
	if n := strings.LastIndexByte(o.Path, ':'); n > 0 {
		if bytes, err := ParseSize(o.Path[n+1:], 1); err == nil {
			o.Path, o.Least = o.Path[:n], bytes
		}
	}
	return o
}
