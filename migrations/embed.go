// Package migrations holds the schema: numbered files that goose applies in order, each in a transaction. Until the
// first release there is one, which is edited in place. A released file never changes; a new file corrects it. In
// production the only direction is forward; Down exists so that tests can go up, down and up again.
//
// Read first: 0001_schema.sql, which documents all tables.
package migrations

import "embed"

// Files are the migrations.
//
//go:embed *.sql
var Files embed.FS
