// Package migrations holds the history of the schema: numbered files that goose applies in order, each in a
// transaction. Files that have been released never change; a new file mends what an old one got wrong. In
// production the way is forward only; Down exists so that a test can go up, down and up again.
//
// Read first: 0001_init.sql.
package migrations

import "embed"

// Files are the migrations.
//
//go:embed *.sql
var Files embed.FS
