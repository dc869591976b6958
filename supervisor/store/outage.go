package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrFull says that the database could not write for want of room on its disk. What was asked for was not done.
var ErrFull = errors.New("the database's disk is full")

// ErrRows says that rows, as they are, cannot be worked on: trying again changes nothing, leaving them out does.
var ErrRows = errors.New("the rows do not allow it")

// The codes of Postgres that this package tells apart.
const (
	codeDiskFull   = "53100"
	codeNoDatabase = "3D000"
	classAuth      = "28"
	classLost      = "08" // connection exceptions
)

// passing are refusals of a server that starts, stops, recovers or serves too many just now.
var passing = []string{"57P01", "57P02", "57P03", "53300"}

// byCaller is how Postgres refuses a caller for his name on this machine.
var byCaller = regexp.MustCompile("^(?i:peer|ident) authentication failed")

// named puts ErrFull over an error of Postgres that says so.
func named(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == codeDiskFull {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// ofRows are classes of codes that tell of what is in the rows: data, constraints, and what does not fit.
var ofRows = []string{"22", "23", "54"}

// namedRows puts ErrRows over an error of Postgres that comes of what is in the rows.
func namedRows(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) && len(e.Code) == 5 && slices.Contains(ofRows, e.Code[:2]) {
		return fmt.Errorf("%w: %w", ErrRows, err)
	}
	return err
}

// Outage says whether an error of Open means only that the database does not answer now: it may do so later, as
// nothing that the configuration says is known to be wrong.
func Outage(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return strings.HasPrefix(e.Code, classLost) || slices.Contains(passing, e.Code)
	}
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return !lookup.IsNotFound
	}
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	for _, cause := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
		syscall.EHOSTDOWN, syscall.EAGAIN, fs.ErrNotExist, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, cause) {
			return true // a socket that is not there yet among them
		}
	}
	return false
}

// connecting says what is wrong with a connection that was not made, and what to do.
func connecting(cfg *pgx.ConnConfig, err error) error {
	var e *pgconn.PgError
	var lookup *net.DNSError
	switch {
	case errors.As(err, &e) && strings.HasPrefix(e.Code, classAuth) && byCaller.MatchString(e.Message):
		return fmt.Errorf("the database refuses user %q: %s; over its socket it asks who calls: do this as the system user %q (sudo -u %s …), "+
			"or name another way in in database_url (qb.conf or QB_DATABASE_URL)", cfg.User, e.Message, cfg.User, cfg.User)
	case errors.As(err, &e) && strings.HasPrefix(e.Code, classAuth):
		return fmt.Errorf("the database refuses user %q: %s; mend user and password in database_url (qb.conf or QB_DATABASE_URL), or pg_hba.conf there", cfg.User, e.Message)
	case errors.As(err, &e) && e.Code == codeNoDatabase:
		return fmt.Errorf("there is no database %q on the server of database_url; make it (createdb %s) or name another", cfg.Database, cfg.Database)
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return fmt.Errorf("database_url names the host %q, which is unknown here: %w; mend it in qb.conf or QB_DATABASE_URL", lookup.Name, err)
	}
	return fmt.Errorf("connecting to the database that database_url names: %w", err)
}
