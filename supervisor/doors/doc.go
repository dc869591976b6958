// Package doors opens entrances for programs that speak a protocol of their own and know no login: the Flamenco add-on
// of Blender, and dialogs of applications that write bundles into a folder.
//
//	add-on ──▶ door: host, origin, size ──▶ serve.Inside, as a user ──▶ POST /v1/openjd
//
// A door must never do what no user may do, and must decide nothing about jobs: it translates, and the endpoints judge.
// All doors are closed unless the site opens them. Read first: doors.go, then flamenco.go.
package doors
