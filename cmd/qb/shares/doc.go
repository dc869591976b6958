// Package shares has the commands about fair sharing: qbshare for everybody, qbadmin share, account and credit for those who
// divide the farm.
//
// It must never work out where a user stands: it shows what the supervisor reports.
//
// Read share.go, then admin.go, account.go, budget.go and publication.go.
package shares
