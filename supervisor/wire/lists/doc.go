// Package lists is what lists of jobs and of hosts have in common: filters, orders, pages, and the members that an
// answer is to have.
//
//	api.JobFilter ─▶ ReadFilter ─▶ Filter: Query for the database, Passes for each job
//	Fields ─▶ Order ─▶ Page: the first rows of an order behind a cursor in it
//
// A filter has two halves: what rows must be, for the database, and what only a look at the job can tell, as its status
// in the live view and the filter's expression. A cursor is what the last row of a page was in each field of the order.
// So a page begins behind it whatever has come or gone before it; a row whose fields change meanwhile may come twice or
// not at all.
//
// Read fields.go, page.go, filter.go; members.go. The package does no I/O.
package lists
