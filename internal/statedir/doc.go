// Package statedir makes and checks the folders in which qb keeps its state. A folder that another user owns or may
// write to, or could exchange from above, decides where root's files are written and what its programs believe: it is
// refused, as sshd with StrictModes refuses such a home.
//
// The package must never change a folder or file that it refuses, and never follow a link that another user made.
//
// Read first: statedir.go.
package statedir
