// Package central knows what the supervisor's file sets of the configuration of workers, section by section, and what
// workers say that they have made of it.
//
// It must never hold a setting by which a worker runs something, or gives somebody rights: who reads the file refuses
// those, and so does each worker.
//
//	[default] < [group.NAME], by name < [host.NAME]
//
// Read central.go.
package central
