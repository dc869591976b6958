package settings

import (
	"fmt"
	"strconv"
	"strings"
)

// Width is a max_cpus value: a number, or "*" (any negative number) for no limit but the site's.
type Width int

func (w Width) String() string {
	if w < 0 {
		return "*"
	}
	return strconv.Itoa(int(w))
}

// MarshalText is String.
func (w Width) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads an integer or "*".
func (w *Width) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if s == "*" {
		*w = -1
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return fmt.Errorf("%q is neither a whole number nor \"*\"", s)
	}
	*w = Width(max(n, -1))
	return nil
}

// UnmarshalTOML reads an integer or "*".
func (w *Width) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case int64:
		*w = Width(max(v, -1))
		return nil
	case string:
		return w.UnmarshalText([]byte(v))
	}
	return fmt.Errorf("%v is neither a whole number nor \"*\"", value)
}
