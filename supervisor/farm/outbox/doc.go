// Package outbox collects what the farm decides between two commits: the rows to be written and the replies that wait
// for them (a transactional outbox). It decides nothing, and it never hands out a reply without the rows that the reply
// depends on: both leave in one Batch.
//
// A commit is bounded in rows and bytes. One half is for requests: the loop steps no event while the outbox is Full.
// The other half is for the farm's own work: what it plans, what it gives up for lost, what it takes up from the rows.
// Each of those asks Spent before each piece and leaves the rest for a later commit.
//
// Read outbox.go.
package outbox
