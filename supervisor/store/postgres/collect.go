package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// querier is a transaction, a connection or a pool. An error of Query is also that of its rows, so callers look there
// only.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// readRows collects rows, nil if there are none; what names them in an error.
func readRows[T any](ctx context.Context, q querier, what string, scan pgx.RowToFunc[T], sql string,
	args ...any) ([]T, error) {
	rows, _ := q.Query(ctx, sql, args...)
	list, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list, nil
}

// readInto is readRows for rows whose columns are the members of T.
func readInto[T any](ctx context.Context, q querier, list *[]T, what, sql string, args ...any) (err error) {
	*list, err = readRows(ctx, q, what, pgx.RowToStructByPos[T], sql, args...)
	return err
}

// readOne is the first row; found is false if there is none.
func readOne[T any](ctx context.Context, q querier, what string, scan pgx.RowToFunc[T], sql string,
	args ...any) (row T, found bool, err error) {
	list, err := readRows(ctx, q, what, scan, sql, args...)
	if len(list) > 0 {
		row = list[0]
	}
	return row, len(list) > 0, err
}

// readMap reads rows of two columns.
func readMap[K comparable, V any](ctx context.Context, q querier, what, sql string, args ...any) (map[K]V, error) {
	values := map[K]V{}
	var key K
	var value V
	err := scanEach(ctx, q, []any{&key, &value}, func() { values[key] = value }, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", what, err)
	}
	return values, nil
}

// scanEach calls take for each row, when the targets have its columns.
func scanEach(ctx context.Context, q querier, targets []any, take func(), sql string, args ...any) error {
	rows, _ := q.Query(ctx, sql, args...)
	_, err := pgx.ForEachRow(rows, targets, func() error {
		take()
		return nil
	})
	return err
}
