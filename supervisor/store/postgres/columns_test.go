package postgres

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"
)

// A column is written byte by byte as pgx writes it, and Postgres reads back what was written.
func TestColumns(t *testing.T) {
	conn, err := pgx.Connect(ctx, emptied(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	plain, ours := pgtype.NewMap(), conn.TypeMap()
	registerColumns(ours)
	rapid.Check(t, func(r *rapid.T) {
		times := rapid.Map(rapid.Int64Range(-6e16, 2e17), func(us int64) time.Time { return time.UnixMicro(us).UTC() })
		texts := rapid.Map(rapid.String(), func(s string) string { return strings.ReplaceAll(s, "\x00", "") })
		floats := rapid.OneOf(rapid.Float64(),
			rapid.SampledFrom([]float64{0, math.Inf(1), math.Inf(-1), 5e-324, math.Copysign(0, -1)}))
		sameColumn(t, r, conn, plain, pgtype.Float8ArrayOID, "double precision[]", rapid.SliceOf(floats).Draw(r, "floats"))
		sameColumn(t, r, conn, plain, pgtype.Int8ArrayOID, "bigint[]", rapid.SliceOf(rapid.Int64()).Draw(r, "int64s"))
		sameColumn(t, r, conn, plain, pgtype.Int4ArrayOID, "integer[]", rapid.SliceOf(rapid.Int32()).Draw(r, "int32s"))
		sameColumn(t, r, conn, plain, pgtype.Int2ArrayOID, "smallint[]", rapid.SliceOf(rapid.Int16()).Draw(r, "int16s"))
		sameColumn(t, r, conn, plain, pgtype.TextArrayOID, "text[]", rapid.SliceOf(texts).Draw(r, "texts"))
		sameColumn(t, r, conn, plain, pgtype.TimestamptzArrayOID, "timestamptz[]", rapid.SliceOf(times).Draw(r, "times"))
		sameColumn(t, r, conn, plain, pgtype.BoolArrayOID, "boolean[]", rapid.SliceOf(rapid.Bool()).Draw(r, "bools"))
		sameColumn(t, r, conn, plain, pgtype.Float8ArrayOID, "double precision[]",
			rapid.SliceOf(rapid.Ptr(floats, true)).Draw(r, "floats or null"))
		sameColumn(t, r, conn, plain, pgtype.TextArrayOID, "text[]",
			rapid.SliceOf(rapid.Ptr(texts, true)).Draw(r, "texts or null"))
	})
	sameColumn[float64](t, t, conn, plain, pgtype.Float8ArrayOID, "double precision[]", nil)
	sameColumn[*float64](t, t, conn, plain, pgtype.Float8ArrayOID, "double precision[]", nil)
}

func sameColumn[T any](t *testing.T, r rapid.TB, conn *pgx.Conn, plain *pgtype.Map, oid uint32, kind string, list []T) {
	t.Helper()
	want, err := plain.Encode(oid, pgtype.BinaryFormatCode, list, nil)
	if err != nil {
		r.Fatal(err)
	}
	got, err := conn.TypeMap().Encode(oid, pgtype.BinaryFormatCode, list, nil)
	if err != nil || !reflect.DeepEqual(got, want) {
		r.Fatalf("%s of %v: %x, %v; pgx writes %x", kind, list, got, err, want)
	}
	var back []T
	if err := conn.QueryRow(ctx, "SELECT $1::"+kind, list).Scan(&back); err != nil || len(back) != len(list) ||
		(back == nil) != (list == nil) {
		r.Fatalf("%s of %v came back as %v: %v", kind, list, back, err)
	}
	for n := range list {
		if a, isTime := any(list[n]).(time.Time); isTime && a.Equal(any(back[n]).(time.Time)) {
			continue
		}
		if !reflect.DeepEqual(back[n], list[n]) {
			r.Fatalf("%s of %v came back as %v", kind, list, back)
		}
	}
}
