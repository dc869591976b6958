// Package settings is what qb.conf says of a worker: names, types, defaults and checks, and which settings the
// supervisor's file may set for many workers. Programs that only read or show settings import this and not the worker.
//
// Read settings.go, central.go, calendar.go.
package settings
