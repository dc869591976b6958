// Package rowlist is what lists of jobs and of hosts have in common: fields by which rows are chosen and ordered, pages of an
// ordered list, and the members that an answer is to have.
//
//	Fields ─▶ Filter, Order ─▶ Page: the first rows of an order behind a place in it
//
// A place is what the last row of a page was in each field of the order. So a page begins behind it whatever has come or gone
// before it; a row whose fields change meanwhile may come twice or not at all.
//
// Read fields.go, page.go; members.go. The package does no I/O.
package rowlist
