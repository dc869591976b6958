package lists

import (
	"container/heap"
	"encoding/base64"
	"encoding/json"
	"slices"

	"qb/agenda"
	"qb/supervisor/lead/problem"
)

// Page gathers the first rows of an order behind a place, whatever order they come in. It retains no more than it
// returns.
type Page[T, R any] struct {
	order *SortOrder[T]
	after sortValues // nil: from the first row
	limit int
	more  bool
	rows  []entry[R]
}

type entry[R any] struct {
	sortValues
	row R
}

// NewPage is a page of at most limit rows behind a place that Next gave; "" is the begin.
func NewPage[T, R any](o *SortOrder[T], after string, limit int) (*Page[T, R], error) {
	p := &Page[T, R]{order: o, limit: limit}
	if after == "" {
		return p, nil
	}
	var err error
	p.after, err = o.read(after)
	return p, err
}

// Len, Less, Swap, Push and Pop make the page a heap whose first row is the last of the order.
func (p *Page[T, R]) Len() int { return len(p.rows) }
func (p *Page[T, R]) Less(i, j int) bool {
	return p.order.compare(p.rows[i].sortValues, p.rows[j].sortValues) > 0
}
func (p *Page[T, R]) Swap(i, j int) { p.rows[i], p.rows[j] = p.rows[j], p.rows[i] }
func (p *Page[T, R]) Push(x any)    { p.rows = append(p.rows, x.(entry[R])) }
func (p *Page[T, R]) Pop() any {
	last := p.rows[len(p.rows)-1]
	p.rows = p.rows[:len(p.rows)-1]
	return last
}

// Add takes in a row, of which keep is to be retained if it is on the page.
func (p *Page[T, R]) Add(row *T, keep func() R) {
	at := p.order.of(row)
	switch {
	case p.after != nil && p.order.compare(at, p.after) <= 0:
	case len(p.rows) < p.limit:
		heap.Push(p, entry[R]{at, keep()})
	default:
		p.more = true
		if p.order.compare(at, p.rows[0].sortValues) < 0 {
			p.rows[0] = entry[R]{at, keep()}
			heap.Fix(p, 0)
		}
	}
}

// Rows are the page, in order. next is the place behind which the next one begins, "" if there is none.
func (p *Page[T, R]) Rows() (rows []R, next string) {
	slices.SortFunc(p.rows, func(a, b entry[R]) int { return p.order.compare(a.sortValues, b.sortValues) })
	for _, e := range p.rows {
		rows = append(rows, e.row)
	}
	if p.more {
		next = p.order.write(p.rows[len(p.rows)-1].sortValues)
	}
	return rows, next
}

// cursor is a place with the order that it is a place of.
type cursor struct {
	Sort  string     `json:"s"`
	Place sortValues `json:"p"`
}

func (o *SortOrder[T]) write(p sortValues) string {
	text, _ := json.Marshal(cursor{o.text, p}) // texts and finite numbers always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

func (o *SortOrder[T]) read(after string) (sortValues, error) {
	var c cursor
	text, err := base64.RawURLEncoding.DecodeString(after)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	fits := err == nil && c.Sort == o.text && len(c.Place) == len(o.by)
	for n := 0; fits && n < len(c.Place); n++ {
		_, isText := c.Place[n].(string)
		_, isNumber := c.Place[n].(float64)
		wantsText := o.by[n].Kind == agenda.KindText || o.by[n].Kind == agenda.KindList
		fits = isText && wantsText || isNumber && !wantsText
	}
	if !fits {
		return nil, problem.Invalid("after",
			"%q is no place in a list with this sort; take it from the header Link of the page before", problem.Clip(after))
	}
	return c.Place, nil
}
