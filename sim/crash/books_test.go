package crash

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
)

// What a charge may differ from the time between an item's first and last line. The shim measures from fork
// to reaping: a shell begins late on a busy machine, and the rig stops shims and freezes items, also before
// the first line and after the last.
const (
	crashChargeUnder = 100 * time.Millisecond
	crashChargeOver  = crashShimStop + crashAway + 3*time.Second // the worst; the sums are held to crashChargeSum
	crashChargeSum   = 0.10
)

// crashCharges are charges of one sort beside what their attempts wrote, in seconds.
type crashCharges struct {
	paid, ran float64
	over      []float64 // by which each charge is more than was written
}

func (c *crashCharges) add(charge, wrote float64) {
	c.paid, c.ran, c.over = c.paid+charge, c.ran+wrote, append(c.over, charge-wrote)
}

func (c *crashCharges) String() string {
	if len(c.over) == 0 {
		return "0"
	}
	slices.Sort(c.over)
	n := len(c.over)
	return fmt.Sprintf("%d: %.1f s charged, %.1f s written; charged more than written by %.3f s at least, %.3f s at the median, %.3f s at most",
		n, c.paid, c.ran, c.over[0], c.over[n/2], c.over[n-1])
}

// checkCharges compares what owners pay with what the items wrote. None pays less than it wrote. An attempt that ended
// by itself pays for that; what another did after its last line no one knows, so it is held to the time between start
// and end of its row; a preempted one pays nothing. And the payers' rows are the sum.
func (r *crashRig) checkCharges(rows map[itemOf][]crashRow, runs map[facts.AttemptID]*crashRun) {
	var charged float64
	var whole, cut crashCharges
	for key, list := range rows {
		for _, row := range list {
			id := facts.AttemptID{Job: key.job, Item: key.item, Number: row.number}
			if row.charged == (row.state == "preempted") {
				r.t.Errorf("%v is %s, and charged: %v", id, row.state, row.charged)
			}
			if row.charged {
				charged += row.charge
			}
			run := runs[id]
			if run == nil {
				continue
			}
			wrote := run.over - run.began
			sort, most := &cut, row.ended.Sub(row.started).Seconds()+crashChargeUnder.Seconds()
			if run.ends+run.fails > 0 && row.wall > 0 {
				sort, most = &whole, wrote+crashChargeOver.Seconds()
			}
			sort.add(row.charge, wrote)
			if row.charge < wrote-crashChargeUnder.Seconds() || row.charge > most {
				r.t.Errorf("%v (%s) wrote for %.2f s and is charged %.2f s; at most %.2f s would do", id, row.state, wrote, row.charge, most)
			}
		}
	}
	used := r.used()
	r.t.Logf("charges of attempts that ended by themselves, %s (bounds: %s less, %s more)", &whole, crashChargeUnder, crashChargeOver)
	r.t.Logf("charges of attempts that were lost or stopped, %s (bounds: %s less, and as long as their rows were open)", &cut, crashChargeUnder)
	r.t.Logf("the usage rows add up to %.6f s, the charged attempts to %.6f s", used, charged)
	if math.Abs(used-charged) > 1e-6*max(1, charged) {
		r.t.Errorf("the usage rows add up to %.6f s, the charged attempts to %.6f s", used, charged)
	}
	if len(whole.over) == 0 {
		r.t.Error("no attempt ended by itself, so no charge was compared")
	}
	if whole.paid > whole.ran*(1+crashChargeSum)+float64(len(whole.over))*0.1 {
		r.t.Errorf("%.1f s are charged for %.1f s", whole.paid, whole.ran)
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
