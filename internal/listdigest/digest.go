// Package listdigest is the digest by which a worker and its supervisor compare lists of instances.
package listdigest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"strconv"
)

// Line is what counts of an instance.
type Line struct {
	Job          int64
	Instance     int
	Item, Number int    // of the attempt
	Word         string // in a sync its state, in an answer the version of the job's specification
	Suspension   int64
}

// Next is the word of a line for the item that an instance holds ahead, in an answer.
const Next = "next"

// Digest is that of a list, in whatever order its lines are added: the sum, modulo 2^128, of the first 16 bytes of the
// SHA-256 of each line's text, such as "7.0 12 1 running 0". So a change of one line costs no look at the others.
type Digest struct{ high, low uint64 }

// Add adds a line to the list.
func (d *Digest) Add(l Line) { d.Join(l.digest()) }

// Join adds the lines of another list.
func (d *Digest) Join(other Digest) {
	var carry uint64
	d.low, carry = bits.Add64(d.low, other.low, 0)
	d.high, _ = bits.Add64(d.high, other.high, carry)
}

// Remove takes a line off the list that has it.
func (d *Digest) Remove(l Line) {
	line := l.digest()
	var borrow uint64
	d.low, borrow = bits.Sub64(d.low, line.low, 0)
	d.high, _ = bits.Sub64(d.high, line.high, borrow)
}

// String is the digest in 32 hexadecimal digits, as messages have it.
func (d Digest) String() string {
	var bytes [16]byte
	binary.BigEndian.PutUint64(bytes[:8], d.high)
	binary.BigEndian.PutUint64(bytes[8:], d.low)
	return hex.EncodeToString(bytes[:])
}

func (l Line) digest() Digest {
	var room [128]byte
	text := strconv.AppendInt(room[:0], l.Job, 10)
	text = append(text, '.')
	text = strconv.AppendInt(text, int64(l.Instance), 10)
	text = append(text, ' ')
	text = strconv.AppendInt(text, int64(l.Item), 10)
	text = append(text, ' ')
	text = strconv.AppendInt(text, int64(l.Number), 10)
	text = append(text, ' ')
	text = append(text, l.Word...)
	text = append(text, ' ')
	text = strconv.AppendInt(text, l.Suspension, 10)
	sum := sha256.Sum256(text)
	return Digest{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:16])}
}
