package postgres

import (
	"fmt"
	"reflect"
	"strings"
	"time"
)

// All SQL with the columns of a job. They are made from the fields of jobRow, so that a new attribute needs no change here.

// jobColumn is a column of job.
type jobColumn struct {
	name, kind string
	fixed      bool // it never changes after the submission
}

var (
	jobFields  = columnsOf(reflect.TypeFor[jobRow]())
	jobColumns = listed(jobFields, ", ", func(c jobColumn) string { return c.name })
	jobRecords = `jsonb_to_recordset($1::jsonb) AS u(` + listed(jobFields, ", ", func(c jobColumn) string { return c.name + " " + c.kind }) +
		`, bytes bigint, expected bigint)`

	sqlInsertJobs = `INSERT INTO job (` + jobColumns + `, bytes) SELECT ` + jobColumns + `, bytes FROM ` + jobRecords

	// What is fixed is not written again: of a command and an environment Postgres then keeps the one copy that it has,
	// whatever is done with the job.
	sqlUpdateJobs = `UPDATE job j SET ` + listed(jobFields, "", func(c jobColumn) string {
		if c.fixed {
			return ""
		}
		return c.name + " = u." + c.name + ", "
	}) + `bytes = u.bytes FROM ` + jobRecords + ` WHERE j.id = u.id AND j.version = u.expected`

	sqlLoadJobs = `SELECT ` + jobColumns + ` FROM job WHERE state IN ('active', 'blocked', 'suspended')`
	sqlJob      = `SELECT ` + jobColumns + ` FROM job WHERE id = $1::bigint`

	// A brief list has no environments, and no command that is long: neither is fetched from where Postgres keeps large values.
	sqlJobs = `SELECT ` + listed(jobFields, ", ", func(c jobColumn) string {
		switch c.name {
		case "command":
			return `CASE WHEN $6::boolean AND pg_column_size(command) > 8192 THEN '{}' ELSE command END AS command`
		case "env":
			return `CASE WHEN $6::boolean THEN '{}'::jsonb ELSE env END AS env`
		}
		return c.name
	}) + ` FROM job
		WHERE ($1::bigint[] IS NULL OR id = ANY($1)) AND ($2::text = '' OR owner = $2)
		AND ($3::text[] IS NULL OR state = ANY($3)) AND ($4::bigint = 0 OR id < $4)
		AND ($7::text = '' OR name = $7) AND ($8::text IN ('', '/') OR cluster = $8 OR starts_with(cluster, $8 || '/')) AND tags @> $9::jsonb
		ORDER BY id DESC LIMIT $5`
)

// columnsOf are the columns that a struct's fields name.
func columnsOf(row reflect.Type) (list []jobColumn) {
	for i := range row.NumField() {
		f := row.Field(i)
		if f.Anonymous {
			list = append(list, columnsOf(f.Type)...)
			continue
		}
		switch name, option, _ := strings.Cut(f.Tag.Get("db"), ","); name {
		case "":
			panic(fmt.Sprintf("%s.%s names no column", row, f.Name))
		case "-":
		default:
			list = append(list, jobColumn{name, kindOf(f.Type), option == "fixed"})
		}
	}
	return list
}

// kindOf is the type of the column that a Go type is stored in.
func kindOf(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "timestamptz"
	case t == reflect.TypeFor[[]string]():
		return "text[]"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOf(t.Elem())
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "bigint"
	}
	return "jsonb"
}

func listed(columns []jobColumn, separator string, text func(jobColumn) string) string {
	var parts []string
	for _, c := range columns {
		parts = append(parts, text(c))
	}
	return strings.Join(parts, separator)
}
