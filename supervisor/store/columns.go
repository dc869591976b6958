package store

import (
	"encoding/binary"
	"math"
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

// PlanEncode takes slices of T in binary.
func (c column[T]) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, fits := value.([]T); fits && format == pgtype.BinaryFormatCode {
		return c
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

// Encode appends the array: dimensions, whether there are nulls, the elements' type, how many, the first one's
// number; then each with its length. A nil slice is null.
func (c column[T]) Encode(value any, buf []byte) ([]byte, error) {
	list := value.([]T)
	if list == nil {
		return nil, nil
	}
	buf = binary.BigEndian.AppendUint32(buf, 1)
	buf = binary.BigEndian.AppendUint32(buf, 0)
	buf = binary.BigEndian.AppendUint32(buf, c.element)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(list)))
	buf = binary.BigEndian.AppendUint32(buf, 1)
	for _, v := range list {
		at := len(buf)
		buf = c.put(append(buf, 0, 0, 0, 0), v)
		binary.BigEndian.PutUint32(buf[at:], uint32(len(buf)-at-4))
	}
	return buf, nil
}

// epochOfPostgres is the beginning of its time, in microseconds of Unix.
var epochOfPostgres = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

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
