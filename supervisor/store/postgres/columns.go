package postgres

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
)

// column writes a slice of T as a Postgres array. What pgx does for arrays of anything cost a commit a quarter of a
// microsecond an element; this costs a few nanoseconds. Everything else is left to the codec of pgx.
type column[T any] struct {
	*pgtype.ArrayCodec
	element uint32 // its OID
	put     func(buf []byte, v T) []byte
}

// PlanEncode takes slices of T, and of what is T or null, in binary.
func (c column[T]) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case []T:
			return c
		case []*T:
			return sparseColumn[T]{c}
		}
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

// Encode appends the array. A nil slice is null.
func (c column[T]) Encode(value any, buf []byte) ([]byte, error) {
	list := value.([]T)
	if list == nil {
		return nil, nil
	}
	buf = c.head(buf, len(list))
	for _, v := range list {
		buf = c.append(buf, v)
	}
	return buf, nil
}

// head appends what an array begins with, and has room for the rest if an element needs no more than eight bytes:
// dimensions, whether there are nulls, the elements' type, how many, the first one's number.
func (c column[T]) head(buf []byte, n int) []byte {
	buf = slices.Grow(buf, 20+12*n)
	buf = binary.BigEndian.AppendUint32(buf, 1)
	buf = binary.BigEndian.AppendUint32(buf, 0)
	buf = binary.BigEndian.AppendUint32(buf, c.element)
	buf = binary.BigEndian.AppendUint32(buf, uint32(n))
	return binary.BigEndian.AppendUint32(buf, 1)
}

// append appends an element with its length.
func (c column[T]) append(buf []byte, v T) []byte {
	at := len(buf)
	buf = c.put(append(buf, 0, 0, 0, 0), v)
	binary.BigEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
	return buf
}

// sparseColumn is a column some of whose elements are null.
type sparseColumn[T any] struct{ column[T] }

// Encode appends the array. A nil pointer is a null element.
func (c sparseColumn[T]) Encode(value any, buf []byte) ([]byte, error) {
	list := value.([]*T)
	if list == nil {
		return nil, nil
	}
	begin := len(buf)
	buf = c.head(buf, len(list))
	for _, v := range list {
		if v != nil {
			buf = c.append(buf, *v)
			continue
		}
		buf = binary.BigEndian.AppendUint32(buf, math.MaxUint32) // a length of -1
		binary.BigEndian.PutUint32(buf[begin+4:], 1)
	}
	return buf, nil
}

// epochOfPostgres is the beginning of its time, in microseconds of Unix.
var epochOfPostgres = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// readUTC makes a connection read times as UTC, as the rest of qb has them.
func readUTC(m *pgtype.Map) {
	m.RegisterType(&pgtype.Type{Name: "timestamptz", OID: pgtype.TimestamptzOID,
		Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC}})
}

// registerColumns makes a connection write the columns of commits.
func registerColumns(m *pgtype.Map) {
	register(m, pgtype.Float8ArrayOID, pgtype.Float8OID, func(buf []byte, v float64) []byte {
		return binary.BigEndian.AppendUint64(buf, math.Float64bits(v))
	})
	register(m, pgtype.Int8ArrayOID, pgtype.Int8OID, func(buf []byte, v int64) []byte {
		return binary.BigEndian.AppendUint64(buf, uint64(v))
	})
	register(m, pgtype.Int4ArrayOID, pgtype.Int4OID, func(buf []byte, v int32) []byte {
		return binary.BigEndian.AppendUint32(buf, uint32(v))
	})
	register(m, pgtype.Int2ArrayOID, pgtype.Int2OID, func(buf []byte, v int16) []byte {
		return binary.BigEndian.AppendUint16(buf, uint16(v))
	})
	register(m, pgtype.BoolArrayOID, pgtype.BoolOID, func(buf []byte, v bool) []byte {
		if v {
			return append(buf, 1)
		}
		return append(buf, 0)
	})
	register(m, pgtype.TextArrayOID, pgtype.TextOID, func(buf []byte, v string) []byte { return append(buf, v...) })
	register(m, pgtype.TimestamptzArrayOID, pgtype.TimestamptzOID, func(buf []byte, v time.Time) []byte {
		return binary.BigEndian.AppendUint64(buf, uint64(v.UnixMicro()-epochOfPostgres))
	})
}

func register[T any](m *pgtype.Map, array, element uint32, put func([]byte, T) []byte) {
	known, _ := m.TypeForOID(array)
	codec, isArray := known.Codec.(*pgtype.ArrayCodec)
	if !isArray {
		return // done already
	}
	m.RegisterType(&pgtype.Type{Name: known.Name, OID: array, Codec: column[T]{codec, element, put}})
}
