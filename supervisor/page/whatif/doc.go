// Package whatif tries a change on a copy of the farm: the same planner divides the farm as it is and as it would be,
// and the difference says who gains, who loses, and what stops. Nothing of the farm is changed.
//
//	Snapshot ─▶ planner.Decide, without and with the change ─▶ api.WhatIfReply
//
// The answer is the same as from `qb plan` on the output of `qb snapshot`, changed by hand in the same way.
package whatif
