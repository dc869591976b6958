// Package metrics counts for Prometheus what this process does, and shows at each scrape where the farm and its users
// are.
//
// It must never read the database, block the loop, or have a label whose values are not bounded.
package metrics
