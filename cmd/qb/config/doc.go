// Package config reads qb.conf: the settings of supervisors, workers and clients, and where each value came from.
//
//	defaults ─▶ files (-conf or QB_CONF; else machine, user, current folder) ─▶ environment ─▶ options (the caller's)
//
// A file that another user may have written is ignored, and the current folder's file, which may come with
// an unpacked project, sets only the few things in ofProjects.
//
// A file in Qube's form is made TOML line by line (qubefile.go) and then read like any other.
//
// Read first: config.go, then files.go.
package config
