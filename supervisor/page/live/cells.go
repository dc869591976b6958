package live

import (
	"encoding/json"
	"strconv"
	"time"
)

// row is cells, encoded, one after the other.
type row struct {
	text []byte
	ends []uint32 // where each cell ends
}

func (r row) cell(n int) []byte {
	first := uint32(0)
	if n > 0 {
		first = r.ends[n-1]
	}
	return r.text[first:r.ends[n]]
}

// writer encodes the cells of all rows of a look into two buffers.
type writer struct {
	buffer  []byte
	offsets []uint32
	first   int // where the present row begins in the buffer
	cells   int // and in the offsets
}

func (w *writer) begin() { w.first, w.cells = len(w.buffer), len(w.offsets) }

func (w *writer) row() row {
	return row{w.buffer[w.first:len(w.buffer):len(w.buffer)], w.offsets[w.cells:len(w.offsets):len(w.offsets)]}
}

func (w *writer) end() { w.offsets = append(w.offsets, uint32(len(w.buffer)-w.first)) }

func (w *writer) numbers(values ...int) {
	for _, v := range values {
		w.buffer = strconv.AppendInt(w.buffer, int64(v), 10)
		w.end()
	}
}

func (w *writer) large(values ...int64) {
	for _, v := range values {
		w.buffer = strconv.AppendInt(w.buffer, v, 10)
		w.end()
	}
}

// tenths are of seconds.
func (w *writer) tenths(values ...float64) {
	for _, v := range values {
		w.buffer = strconv.AppendFloat(w.buffer, float64(int64(v*10+0.5))/10, 'f', -1, 64)
		w.end()
	}
}

// times are seconds since 1970, 0 for none.
func (w *writer) times(values ...time.Time) {
	for _, t := range values {
		if t.IsZero() {
			w.numbers(0)
		} else {
			w.large(t.Unix())
		}
	}
}

func (w *writer) texts(values ...string) {
	for _, s := range values {
		w.buffer = appendText(w.buffer, s)
		w.end()
	}
}

// appendText is a text in JSON, as encoding/json has it.
func appendText(to []byte, s string) []byte {
	for n := range len(s) {
		if c := s[n]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			data, _ := json.Marshal(s) // a text always encodes
			return append(to, data...)
		}
	}
	return append(append(append(to, '"'), s...), '"')
}

// differences are numbers, each less the one before it.
func differences[K ~int64](to []byte, keys []K) []byte {
	before := K(0)
	for n, key := range keys {
		if n > 0 {
			to = append(to, ',')
		}
		to = strconv.AppendInt(to, int64(key-before), 10)
		before = key
	}
	return to
}

// endings are texts, each as how many bytes it shares with the one before it, and the rest. A text is only parted
// between characters of one byte, so that a reader may count units of UTF-16 instead.
func endings[K ~string](to []byte, keys []K) []byte {
	before := K("")
	for n, key := range keys {
		if n > 0 {
			to = append(to, ',')
		}
		shared := 0
		for shared < min(len(key), len(before)) && key[shared] == before[shared] && key[shared] < 0x80 {
			shared++
		}
		to = append(strconv.AppendInt(to, int64(shared), 10), ',')
		to = appendText(to, string(key[shared:]))
		before = key
	}
	return to
}
