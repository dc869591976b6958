package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"qb/supervisor/job/facts"
)

// When the rows of payers take over what commits have noted of them: then the commit that reaches one of these does
// it, which takes it some 15 ms.
const (
	newsRows    = 1000   // rows of usage_news
	newsEntries = 20_000 // elements in them
	newsPayers  = 2000   // payers of whom they tell
)

// payers caches the tables payer and usage_news, which the leader alone writes. A failed commit ends the term, so the
// cache always equals the tables.
type payers struct {
	known   map[facts.Payer]*payer // nil: not read yet
	last    int32                  // of their ids
	news    []*payer
	rows    int
	entries int
	commits uint64 // of this term that wrote usage
}

// payer is a row, and what was noted since.
type payer struct {
	id     int32
	isNews bool
	usage  facts.UsageFacts // if it is news
	commit uint64           // the last commit that wrote it
	fresh  bool             // that one added the row
	place  int              // and its place in the columns of that one
}

// takeUp reads the tables as the term before left them.
func (p *payers) takeUp(ctx context.Context, conn *pgx.Conn) error {
	if p.known != nil {
		return nil
	}
	fresh := payers{known: map[facts.Payer]*payer{}}
	var id int32
	var u facts.UsageFacts
	err := scanEach(ctx, conn, []any{&id, &u.Account, &u.Owner}, func() {
		fresh.known[u.Payer], fresh.last = &payer{id: id}, max(fresh.last, id)
	}, sqlPayers)
	if err != nil {
		return fmt.Errorf("reading payers: %w", err)
	}
	news, err := readRows(ctx, conn, "what was noted of payers", pgx.RowToStructByPos[facts.UsageFacts], sqlNews)
	if err != nil {
		return err
	}
	for _, u := range news {
		fresh.note(fresh.known[u.Payer], u)
	}
	if err := conn.QueryRow(ctx, sqlCountNews).Scan(&fresh.rows, &fresh.entries); err != nil {
		return fmt.Errorf("counting what was noted of payers: %w", err)
	}
	*p = fresh
	return nil
}

func (p *payers) note(one *payer, u facts.UsageFacts) {
	one.usage = u
	if !one.isNews {
		one.isNews = true
		p.news = append(p.news, one)
	}
}

// appendTo adds the statements that write usage: rows for new payers, one row of news for all the others, and now
// and then the news into the rows.
func (p *payers) appendTo(list []statement, usage []facts.UsageFacts) []statement {
	if len(usage) == 0 {
		return list
	}
	p.commits++
	known, fresh := columnsFor(len(usage)), usageColumns{}
	var account, owner []string
	for i := range usage {
		u := &usage[i]
		one := p.known[u.Payer]
		switch {
		case one == nil:
			p.last++
			p.known[u.Payer] = &payer{id: p.last, commit: p.commits, fresh: true, place: len(fresh.id)}
			account, owner = append(account, u.Account), append(owner, u.Owner)
			fresh.add(p.last, u)
		case one.commit == p.commits && one.fresh:
			fresh.set(one.place, u)
		case one.commit == p.commits:
			known.set(one.place, u)
			p.note(one, *u)
		default:
			one.commit = p.commits
			one.fresh = false
			one.place = len(known.id)
			known.add(one.id, u)
			p.note(one, *u)
		}
	}
	list = append(list, statement{sql: sqlAddPayers, args: append([]any{account, owner}, fresh.args()...),
		writes: len(fresh.id), what: "adding payers"})
	if n := len(known.id); n > 0 {
		list = append(list, statement{sql: sqlAddNews, args: known.sparse(), writes: 1, what: "noting usage"})
		p.rows, p.entries = p.rows+1, p.entries+n
	}
	if p.rows < newsRows && p.entries < newsEntries && len(p.news) < newsPayers {
		return list
	}
	return p.merge(list)
}

// merge adds the entries of usage_news to the rows of payers.
func (p *payers) merge(list []statement) []statement {
	all := columnsFor(len(p.news))
	for _, one := range p.news {
		all.add(one.id, &one.usage)
		one.isNews = false
	}
	list = append(list,
		statement{sql: sqlFoldNews, args: all.args(), writes: len(all.id), what: "writing usage"},
		statement{sql: sqlDropNews, writes: p.rows, what: "taking over what was noted of payers"})
	p.news = p.news[:0]
	p.rows = 0
	p.entries = 0
	return list
}

// usageColumns are usage by column.
type usageColumns struct {
	id                     []int32
	cpu, ram, gpu, scratch []float64
	at                     []time.Time
}

func columnsFor(n int) usageColumns {
	v := make([]float64, 4*n)
	return usageColumns{make([]int32, 0, n), v[:0:n], v[n : n : 2*n], v[2*n : 2*n : 3*n], v[3*n : 3*n],
		make([]time.Time, 0, n)}
}

func (c *usageColumns) add(id int32, u *facts.UsageFacts) {
	c.id, c.at = append(c.id, id), append(c.at, u.At)
	c.cpu = append(c.cpu, u.CPU)
	c.ram = append(c.ram, u.RAM)
	c.gpu = append(c.gpu, u.GPU)
	c.scratch = append(c.scratch, u.Scratch)
}

func (c *usageColumns) set(place int, u *facts.UsageFacts) {
	c.at[place] = u.At
	c.cpu[place] = u.CPU
	c.ram[place] = u.RAM
	c.gpu[place] = u.GPU
	c.scratch[place] = u.Scratch
}

func (c *usageColumns) args() []any { return []any{c.id, c.cpu, c.ram, c.gpu, c.scratch, c.at} }

// sparse returns the columns without the all-zero ones.
func (c *usageColumns) sparse() []any {
	return []any{c.id, some(c.cpu), some(c.ram), some(c.gpu), some(c.scratch), c.at}
}
