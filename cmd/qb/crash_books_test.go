package main

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/farm"
)

// What a charge may differ from the time between an item's first and last line. The shim measures from fork
// to reaping: a shell begins late on a busy machine, and the rig stops shims and freezes items, also before
// the first line and after the last.
const (
	crashChargeUnder = 100 * time.Millisecond
	crashChargeOver  = crashShimStop + crashAway + 3*time.Second // the worst; the sums are held to crashChargeSum
	crashChargeSum   = 0.10
)

// checkCharges compares what owners pay with what the items wrote: an attempt pays for as long as it ran, a
// lost one until its lease ended at most, a preempted one nothing; and the payer's row is the sum.
func (r *crashRig) checkCharges(rows map[itemOf][]crashRow, runs map[farm.AttemptID]*crashRun) {
	var charged, paid, ran float64
	var over []float64
	for key, list := range rows {
		for _, row := range list {
			id := farm.AttemptID{Job: key.job, Item: key.item, Number: row.number}
			switch {
			case row.state == "preempted" && row.charged:
				r.t.Errorf("%v was preempted, and is charged", id)
			case row.state != "preempted" && !row.charged:
				r.t.Errorf("%v is %s, and is not charged", id, row.state)
			}
			if row.charged {
				charged += row.charge
			}
			run := runs[id]
			if run == nil {
				continue
			}
			wrote := run.over - run.began
			if row.charge < wrote-crashChargeUnder.Seconds() {
				r.t.Errorf("%v (%s) wrote for %.2f s and is charged %.2f s", id, row.state, wrote, row.charge)
			}
			if run.ends+run.fails == 0 || row.wall == 0 {
				continue // what it did after its last line nobody knows; one that was lost pays until its lease ended
			}
			if row.charge > wrote+crashChargeOver.Seconds() {
				r.t.Errorf("%v (%s) wrote for %.2f s and is charged %.2f s", id, row.state, wrote, row.charge)
			}
			paid, ran, over = paid+row.charge, ran+wrote, append(over, row.charge-wrote)
		}
	}
	if used := r.used(); math.Abs(used-charged) > 1e-6*max(1, charged) {
		r.t.Errorf("the usage rows add up to %.6f s, the charged attempts to %.6f s", used, charged)
	}
	if len(over) == 0 {
		r.t.Error("no attempt ended by itself, so no charge was compared")
		return
	}
	slices.Sort(over)
	r.t.Logf("charges of %d attempts that ended by themselves: %.1f s, they wrote for %.1f s; more than they wrote by %.3f s at the median, %.3f s at most; usage rows %.1f s",
		len(over), paid, ran, over[len(over)/2], over[len(over)-1], charged)
	if paid > ran*(1+crashChargeSum)+float64(len(over))*0.1 {
		r.t.Errorf("%.1f s are charged for %.1f s", paid, ran)
	}
}

// used is the sum of all usage rows, of which nothing decays here.
func (r *crashRig) used() (sum float64) {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, r.database)
	r.must(err)
	defer conn.Close(ctx)
	r.must(conn.QueryRow(ctx, `SELECT coalesce(sum(cpu), 0) FROM usage`).Scan(&sum))
	return sum
}
