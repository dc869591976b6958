// Package licences knows what the farm may hold of resources of the whole farm, such as licences: the count of the
// configuration, less what others use outside of the farm, and for a while less than that, after items have found none.
//
// It is pure, and holds no count of what instances have: that is always counted from the live attempts.
//
//	qb.conf: how many the farm may use ────┐
//	reports: how many there are, and how   ├─> Allowed: how many the farm may hold now
//	         many others use               │
//	items that found none ─> lowered ──────┘
//
//	lowered: to what was held then; after a wait one more is tried, later more at once. Each try that fails
//	         doubles the wait, up to MostWait, until an item finds one.
//
// Resources of the classes license_host and global_host are counted per seat: a host, or a user on a host. Give chooses
// the hosts where jobs may open new seats.
//
// Read licences.go, lower.go, then seats.go.
package licences
