// Package hostselect holds the options by which qbhosts, qblock and qbunlock choose hosts: -down, -active, -cluster,
// -group and -resources.
package hostselect
