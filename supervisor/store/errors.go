package store

import "errors"

var (
	// ErrOtherKey says that the farm's key file is not the one with which the farm has been led before.
	ErrOtherKey = errors.New(
		"supervisor_key_file holds another key than the farm's: copy the file from a supervisor of this farm, or from where its backup is kept; " +
			"if it is lost, restore a backup with qb restore -newkey")
	// ErrSuperseded says that the hosts obey a copy of this database.
	ErrSuperseded = errors.New(
		"the hosts of the farm obey a copy of this database, so nobody leads in this one: point database_url at the other, or, " +
			"to go on with the rows of this one, stop the other's supervisors, then qb backup and qb restore this one")
	// ErrOlderServer says that a replica was promoted in place of this server, and that the farm has moved on to it.
	ErrOlderServer = errors.New(
		"the farm has moved on to a promoted replica of this server, whose rows are older: point database_url at that one and make this server its replica; " +
			"or, if it is lost and these rows are to be taken, give up what came after them: qb restore -accept-older counts it first")
	// ErrBetterServer says that another address of database_url has a server on a higher timeline, or with a higher term.
	ErrBetterServer = errors.New("another address of database_url has newer rows of the farm")
)

// What this package tells apart of what Postgres says, so that callers need no SQLSTATE and no text.
var (
	// ErrFull says that the database could not write for want of room on its disk. What was asked for was not done.
	ErrFull = errors.New("the database's disk is full")
	// ErrReadOnly says that the database takes no writes from this user.
	ErrReadOnly = errors.New(
		"the database is read-only: it is a standby server, or default_transaction_read_only is on for its user; " +
			"name the primary server in database_url, or switch that off")
	// ErrConnections says that the server takes no more connections.
	ErrConnections = errors.New(
		"the database takes no more connections: max_connections, or the CONNECTION LIMIT of its user or database, is reached")
	// ErrPooler says that a session would not be this process's alone, or lacks its settings.
	ErrPooler = errors.New("a connection pooler, such as pgbouncer, stands between qb and Postgres")
	// ErrRefused says that somebody must mend user, password, database or rights before the database lets qb in.
	ErrRefused = errors.New("the database refuses qb")
)

// ErrCharacter says that a request has a text with the character NUL.
var ErrCharacter = errors.New("a text of the request has the character NUL, which no row can hold; leave it out")

// ErrRows says that rows, as they are, cannot be worked on: trying again changes nothing, leaving them out does.
var ErrRows = errors.New("the rows do not allow it")
