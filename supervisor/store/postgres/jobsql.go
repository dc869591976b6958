package postgres

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"qb/supervisor/store"
	"qb/supervisor/store/rules"
)

// All SQL with the columns of a job. They are made from the fields of jobRow, so that a new attribute needs no change
// here.

// jobColumn is a column of job.
type jobColumn struct {
	name, kind string
	fixed      bool // it never changes after the submission
}

var (
	jobFields  = columnsOf(reflect.TypeFor[jobRow]())
	jobColumns = listed(jobFields, ", ", func(c jobColumn) string { return c.name })
	jobRecords = `jsonb_to_recordset($1::jsonb) AS u(` + listed(jobFields, ", ", func(c jobColumn) string {
		return c.name + " " + c.kind
	}) +
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

	sqlLoadJobs = `SELECT ` + jobColumns + ` FROM job WHERE state IN ('active', 'blocked', 'suspended') OR id = ANY(ARRAY(
		SELECT jsonb_path_query(w.wait_for, '$[*] ? (@.of == "work").job')::bigint FROM job w WHERE w.state IN ('active', 'blocked', 'suspended')))`
	sqlJob = `SELECT ` + jobColumns + ` FROM job WHERE id = $1::bigint`
)

// jobColumnsOf are the columns of a list. A brief one has no environments, and no command that is long: neither is
// fetched from where Postgres keeps large values.
func jobColumnsOf(q store.JobQuery) string {
	if !q.Brief {
		return jobColumns
	}
	return listed(jobFields, ", ", func(c jobColumn) string {
		switch c.name {
		case "command":
			return `CASE WHEN pg_column_size(command) > 8192 THEN '{}' ELSE command END AS command`
		case "env":
			return `'{}'::jsonb AS env`
		}
		return c.name
	})
}

// selectJobs is a list of jobs, newest first. It has the conditions that are asked for and no others, so that Postgres
// can take the index that fits them.
func selectJobs(columns string, q store.JobQuery) (sql string, args []any) {
	var where []string
	add := func(asked bool, condition string, value any) {
		if asked {
			args = append(args, value)
			where = append(where, strings.ReplaceAll(condition, "$", fmt.Sprintf("$%d", len(args))))
		}
	}
	tags := rules.CleanTags(q.Tags).Map()
	add(q.IDs != nil, `id = ANY($::bigint[])`, q.IDs)
	add(q.User != "", `owner = $`, rules.Clean(q.User))
	add(q.States != nil, `state = ANY($::text[])`, q.States)
	add(q.Before != 0, `id < $`, q.Before)
	add(q.Name != "", `name = $`, rules.Clean(q.Name))
	// Names of clusters below one begin with it and "/"; "0" is the sign after "/".
	add(q.Cluster != "" && q.Cluster != "/",
		`(cluster COLLATE "C" = $ OR cluster COLLATE "C" >= $ || '/' AND cluster COLLATE "C" < $ || '0')`,
		rules.Clean(q.Cluster))
	add(len(tags) > 0, `tags @> $::jsonb AND tags <> '{}'`, tags)
	add(!q.ChangedSince.IsZero(), `id IN (SELECT job FROM job_change WHERE changed_at >= $)`, rules.Second(q.ChangedSince))
	add(!q.FinishedSince.IsZero(), `(state IN ('active', 'blocked', 'suspended') OR finished_at >= $)`,
		rules.Exact(q.FinishedSince))
	sql = `SELECT ` + columns + ` FROM job`
	if len(where) > 0 {
		sql += ` WHERE ` + strings.Join(where, ` AND `)
	}
	args = append(args, rules.PageOf(q.Limit))
	return sql + fmt.Sprintf(` ORDER BY id DESC LIMIT $%d`, len(args)), args
}

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
