package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/agenda"
	"qb/supervisor/facts"
	"qb/supervisor/store/rules"
)

type orderKey struct {
	job    facts.JobID
	number int64
}

// orderWrite is what a batch makes of an order's row.
type orderWrite struct {
	facts.OrderFacts
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
	before.OrderFacts = w.OrderFacts
	return nil
}

// orderColumns are orders as columns.
type orderColumns struct {
	jobs, numbers []int64
	actions       []string
	items         []*string
	by            []string
	at            []time.Time
	begun         []*time.Time
	next          []int32
	affected      []int64
	done          []int64
}

func (c *orderColumns) add(o facts.OrderFacts) {
	c.jobs, c.numbers, c.actions = append(c.jobs, int64(o.Job)), append(c.numbers, o.Number), append(c.actions, string(o.Action))
	c.items, c.by, c.at = append(c.items, spansToText(o.Items)), append(c.by, o.By), append(c.at, o.At)
	c.begun, c.next = append(c.begun, unless(o.Begun, time.Time{})), append(c.next, int32(o.Next))
	c.affected, c.done = append(c.affected, int64(o.Affected)), append(c.done, int64(o.Done))
}

// appendOrders makes the statements on orders; those that came and went in one batch never were.
func appendOrders(list []statement, orders []orderWrite) []statement {
	var fresh, moved, gone orderColumns
	for _, o := range orders {
		switch {
		case o.fresh && o.gone:
		case o.fresh:
			fresh.add(o.OrderFacts)
		case o.gone:
			gone.add(o.OrderFacts)
		default:
			moved.add(o.OrderFacts)
		}
	}
	if c, n := gone, len(gone.jobs); n > 0 {
		list = append(list, statement{sql: sqlDropOrders, args: []any{c.jobs, c.numbers}, want: n, what: "deleting orders"})
	}
	if c, n := moved, len(moved.jobs); n > 0 {
		list = append(list, statement{sql: sqlMoveOrders, args: []any{c.jobs, c.numbers, c.begun, c.next, c.affected, c.done}, want: n, what: "moving orders on"})
	}
	if c, n := fresh, len(fresh.jobs); n > 0 {
		args := []any{c.jobs, c.numbers, c.actions, c.items, c.by, c.at, c.begun, c.next, c.affected, c.done}
		list = append(list, statement{sql: sqlAddOrders, args: args, want: n, what: "adding orders"})
	}
	return list
}

// spansToText writes items as JSON, each span as its first and last item and its step; nil for all.
func spansToText(spans []agenda.Span) *string {
	if spans == nil {
		return nil
	}
	list := make([][3]int, len(spans))
	for n, s := range spans {
		list[n] = [3]int{s.First, s.Last, s.Step}
	}
	text, _ := json.Marshal(list) // of numbers, it never fails
	return new(string(text))
}

// orderRow is a row of item_order.
type orderRow struct {
	Job      facts.JobID  `db:"job"`
	Number   int64        `db:"number"`
	Action   facts.Action `db:"action"`
	Items    *[][3]int    `db:"items"`
	By       string       `db:"by"`
	At       time.Time    `db:"at"`
	Begun    *time.Time   `db:"begun_at"`
	Next     facts.ItemNo `db:"next"`
	Affected int          `db:"affected"`
	Done     int          `db:"done"`
}

func (r orderRow) facts() facts.OrderFacts {
	o := facts.OrderFacts{Job: r.Job, Number: r.Number, Action: r.Action, By: r.By, At: r.At, Begun: orZero(r.Begun),
		Next: r.Next, Affected: r.Affected, Done: r.Done}
	if r.Items != nil {
		o.Items = make([]agenda.Span, len(*r.Items))
		for n, s := range *r.Items {
			o.Items[n] = agenda.Span{First: s[0], Last: s[1], Step: s[2]}
		}
	}
	return rules.NormalOrder(o)
}

// loadOrders reads the orders on the jobs.
func (l *loadedJobs) loadOrders(ctx context.Context, tx pgx.Tx) error {
	rows, err := queryAll[orderRow](ctx, tx, sqlLoadOrders, l.ids)
	if err != nil {
		return fmt.Errorf("reading orders: %w", err)
	}
	for _, r := range rows {
		record := &l.records[l.place[r.Job]]
		record.Orders = append(record.Orders, r.facts())
	}
	return nil
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
