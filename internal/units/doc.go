// Package units reads and writes sizes in bytes and time spans: in options, qb.conf, requirements, messages and pages.
//
// A size is written in KiB, MiB, GiB and so on, which are powers of 1024. KB and K are read as KiB, as in Qube. What a
// number without a unit means depends on where it is: MiB in options of jobs and in keys of the supervisor, bytes
// in keys of the worker.
//
// A span is written 90s, 15m, 1h30m, 30d or 1d12h. A number without a unit is in seconds, in an option for days in
// days.
package units
