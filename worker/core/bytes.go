package core

import (
	"fmt"
	"strconv"
	"strings"
)

// Bytes is a size as the configuration writes it: 268435456, "256MB", "1.5GB". Units are powers of 1024.
type Bytes int64

var byteUnits = []struct {
	name string
	size int64
}{{"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"T", 1 << 40}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1}, {"", 1}}

// UnmarshalText reads a number with or without a unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.ToUpper(strings.TrimSpace(string(text)))
	for _, unit := range byteUnits {
		digits, ok := strings.CutSuffix(s, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
		if err != nil || !(n >= 0 && n*float64(unit.size) < 1<<62) {
			break
		}
		*b = Bytes(n * float64(unit.size))
		return nil
	}
	return fmt.Errorf("%q is not a size; write it as 268435456, 256MB or 1.5GB", text)
}

// MarshalText writes the largest unit that loses nothing.
func (b Bytes) MarshalText() ([]byte, error) {
	for _, unit := range byteUnits[:4] {
		if b != 0 && int64(b)%unit.size == 0 {
			return fmt.Appendf(nil, "%d%s", int64(b)/unit.size, unit.name), nil
		}
	}
	return fmt.Appendf(nil, "%d", int64(b)), nil
}

func (b Bytes) String() string {
	for _, unit := range byteUnits[:4] {
		if int64(b) >= unit.size {
			return fmt.Sprintf("%.4g %s", float64(b)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d B", int64(b))
}
