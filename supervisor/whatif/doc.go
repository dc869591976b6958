// Package whatif tries a change on a copy of the farm: the same planner divides the farm as it is and as it would be, and
// the difference says who gains, who loses, and what stops. Nothing of the farm is changed.
//
//	Snapshot ─▶ planner.Balance, without and with the change ─▶ api.WhatIfReply
//
// The answer is that of `qb plan` on what `qb snapshot` prints, changed by hand in the same way.
package whatif
