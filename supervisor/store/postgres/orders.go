package postgres

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/agenda"
	"qb/supervisor/job/facts"
	"qb/supervisor/store/rules"
)

type orderKey struct {
	job    facts.JobID
	number int64
}

// orderWrite is what a batch makes of an order's row.
type orderWrite struct {
	facts.ActionFacts
	fresh, gone bool
}

// addOrder joins the writes on one order.
func (s *sorter) addOrder(w orderWrite) error {
	key := orderKey{w.Job, w.Number}
	s.needs[w.Job] = s.needs[w.Job] || w.fresh
	at, again := s.orders[key]
	if !again {
		s.orders[key] = len(s.batch.orders)
		s.batch.orders = append(s.batch.orders, w)
		return nil
	}
	before := &s.batch.orders[at]
	if before.gone || w.fresh {
		return fmt.Errorf("job %d: order %d is written after it was deleted, or twice anew", w.Job, w.Number)
	}
	if w.gone {
		before.gone = true
		return nil
	}
	if w.Next < before.Next {
		return fmt.Errorf("job %d: order %d goes back from item %d to item %d", w.Job, w.Number, before.Next, w.Next)
	}
	before.ActionFacts = w.ActionFacts
	return nil
}

// orderStatements write orders; an order that was added and removed in one batch is not written.
func orderStatements(orders []orderWrite) []statement {
	var fresh, moved, gone []orderRow
	for _, o := range orders {
		row := orderToRow(o.ActionFacts)
		switch {
		case o.fresh && o.gone:
		case o.fresh:
			fresh = append(fresh, row)
		case o.gone:
			gone = append(gone, row)
		default:
			moved = append(moved, row)
		}
	}
	return []statement{
		{sql: sqlDropOrders, args: []any{gone}, writes: len(gone), what: "deleting orders"},
		{sql: sqlMoveOrders, args: []any{moved}, writes: len(moved), what: "moving orders on"},
		{sql: sqlAddOrders, args: []any{fresh}, writes: len(fresh), what: "adding orders"},
	}
}

// orderRow is a row of item_order. Items are spans, each as its first and last item and its step; nil: all.
type orderRow struct {
	Job      facts.JobID  `db:"job" json:"job"`
	Number   int64        `db:"number" json:"number"`
	Action   facts.Action `db:"action" json:"action"`
	Items    *[][3]int    `db:"items" json:"items"`
	By       string       `db:"by" json:"by"`
	At       time.Time    `db:"at" json:"at"`
	Begun    *time.Time   `db:"begun_at" json:"begun_at"`
	Next     facts.ItemNo `db:"next" json:"next"`
	Affected int          `db:"affected" json:"affected"`
	Done     int          `db:"done" json:"done"`
}

func orderToRow(o facts.ActionFacts) orderRow {
	r := orderRow{Job: o.Job, Number: o.Number, Action: o.Action, By: o.By, At: o.At, Begun: unless(o.Begun, time.Time{}),
		Next: o.Next, Affected: o.Affected, Done: o.Done}
	if o.Items != nil {
		items := make([][3]int, len(o.Items))
		for n, s := range o.Items {
			items[n] = [3]int{s.First, s.Last, s.Step}
		}
		r.Items = &items
	}
	return r
}

func scanOrder(row pgx.CollectableRow) (facts.ActionFacts, error) {
	r, err := pgx.RowToStructByName[orderRow](row)
	o := facts.ActionFacts{Job: r.Job, Number: r.Number, Action: r.Action, By: r.By, At: r.At, Begun: orZero(r.Begun),
		Next: r.Next, Affected: r.Affected, Done: r.Done}
	if r.Items != nil {
		o.Items = make([]agenda.Span, len(*r.Items))
		for n, s := range *r.Items {
			o.Items[n] = agenda.Span{First: s[0], Last: s[1], Step: s[2]}
		}
	}
	return rules.NormalOrder(o), err
}

// inFull are the jobs whose attempts are read in full: an order under way tells by their ends whether it applies; and
// the others.
func (l *loadedJobs) inFull() (full, short []facts.JobID) {
	for _, r := range l.records {
		if len(r.Orders) > 0 {
			full = append(full, r.Job.ID)
		} else {
			short = append(short, r.Job.ID)
		}
	}
	return full, short
}
