package agenda

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// maxSize keeps sizes exact as floating point numbers too: 8 PB.
const maxSize = 1 << 53

var sizeUnits = []struct {
	name  string
	bytes int64
}{{"PB", 1 << 50}, {"TB", 1 << 40}, {"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}, {"B", 1}}

// ParseSize reads a size such as 4GB, 512M or 1.5TiB, in bytes. Units are powers of 1024 in any case of
// letters; a number without a unit is in MB, as in Qube: 4000 is 4000MB.
func ParseSize(text string) (bytes int64, err error) {
	digits := strings.TrimRight(text, "kKmMgGtTpPiIbB")
	number, ok := parseNumber(digits)
	unit, known := unitBytes(text[len(digits):])
	switch {
	case !ok || !known:
		return 0, fmt.Errorf("%s is no size; write 4GB, 512MB or 1.5TB (a number alone is in MB)", clip(text))
	case number < 0:
		return 0, fmt.Errorf("size %s is negative; write a positive one such as 4GB", clip(text))
	case number*float64(unit) > maxSize:
		return 0, fmt.Errorf("size %s is more than 8PB; write a smaller one such as 4GB", clip(text))
	}
	return int64(math.Round(number * float64(unit))), nil
}

// unitBytes is the bytes of a unit as people write it: g, GB and GiB are the same.
func unitBytes(text string) (int64, bool) {
	if text == "" {
		return 1 << 20, true
	}
	text = strings.ToUpper(text)
	if len(text) == 3 && text[1] == 'I' {
		text = text[:1] + text[2:]
	}
	for _, unit := range sizeUnits {
		if text == unit.name || text == unit.name[:1] {
			return unit.bytes, true
		}
	}
	return 0, false
}

// FormatSize writes bytes exactly, in the largest unit that leaves no fraction; ParseSize reads it back.
func FormatSize(bytes int64) string {
	for _, unit := range sizeUnits {
		if bytes >= unit.bytes && bytes%unit.bytes == 0 {
			return strconv.FormatInt(bytes/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(bytes, 10) + "B"
}

// parseNumber reads a plain decimal number: a sign, digits, a fraction, and nothing else that a computer
// might take for a number.
func parseNumber(text string) (float64, bool) {
	digits := strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	if len(text)-len(digits) > 1 || digits == "" || len(digits) > 40 || digits[0] == '.' || strings.HasSuffix(digits, ".") {
		return 0, false
	}
	if strings.Trim(digits, "0123456789.") != "" || strings.Count(digits, ".") > 1 {
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil && math.Abs(number) <= 1e30
}
