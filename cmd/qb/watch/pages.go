package watch

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"qb/agenda"
	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

// scroll is a text that may be longer than its room.
type scroll struct {
	top, room, all int
}

func (s *scroll) show(lines []string, room int) []string {
	s.room, s.all = room, len(lines)
	s.top = max(0, min(s.top, s.all-room))
	return lines[s.top:min(s.top+room, s.all)]
}

func (s *scroll) steer(key string) {
	s.top = max(0, min(s.top+moved(key, s.room, s.all), s.all-s.room))
}

func (s *scroll) key(_ *model, key string) tea.Cmd {
	s.steer(key)
	return nil
}
func (s *scroll) refresh(*model) tea.Cmd { return nil }
func (s *scroll) close()                 {}

// moved is by how many of all lines a key moves, of which so many are shown at once.
func moved(key string, shown, all int) int {
	switch key {
	case "up", "k":
		return -1
	case "down", "j":
		return 1
	case "pgup", "ctrl+b":
		return -max(1, shown-1)
	case "pgdown", "ctrl+f", "space":
		return max(1, shown-1)
	case "home", "g":
		return -all
	case "end", "G":
		return all
	}
	return 0
}

// wrap breaks a text into lines.
func wrap(text string, width int) []string {
	return strings.Split(lipgloss.Wrap(text, max(width, 4), ""), "\n")
}

// named shows fields as a name and a value, wrapped below itself.
func (d drawing) named(fields [][2]string, width int) (lines []string) {
	widest := 0
	for _, f := range fields {
		widest = max(widest, cells(f[0]))
	}
	for _, f := range fields {
		name := pad(f[0], widest)
		for _, part := range wrap(d.user(f[1]), width-widest-4) {
			lines = append(lines, "  "+name+"  "+part)
			name = strings.Repeat(" ", widest)
		}
	}
	return lines
}

// jobPage is all about one job.
type jobPage struct {
	scroll
	id      int64
	job     *api.Job
	why     api.Explanation
	trouble string
	busy    bool
}

type jobArrived struct {
	page *jobPage
	job  api.Job
	why  api.Explanation
	err  error
}

func (a jobArrived) arrive(*model) tea.Cmd {
	p := a.page
	p.busy, p.trouble = false, ""
	if a.err != nil {
		p.trouble = a.err.Error()
		return nil
	}
	p.job, p.why = &a.job, a.why
	return nil
}

func (p *jobPage) refresh(m *model) tea.Cmd {
	if p.busy {
		return nil
	}
	p.busy = true
	return m.call(func(ctx context.Context, farm Farm) tea.Msg {
		a := jobArrived{page: p}
		if a.err = farm.Ask(ctx, api.GetJob, jobParam(p.id), &a.job); a.err == nil {
			a.err = farm.Ask(ctx, api.Explain, jobParam(p.id), &a.why)
		}
		return a
	})
}

func (p *jobPage) title(m *model) string {
	if p.job == nil {
		return fmt.Sprintf("job %d", p.id)
	}
	return fmt.Sprintf("job %d %s", p.id, m.d.user(p.job.Name))
}

func (p *jobPage) hints(*model) string {
	return "esc back  q quit  ? help  i items  l log  K kill  R retry  arrows scroll"
}

func (p *jobPage) key(m *model, key string) tea.Cmd {
	switch key {
	case "i", "l", "K", "R":
		if p.job != nil {
			return m.overview.open(m, key, *p.job)
		}
	default:
		p.steer(key)
	}
	return nil
}

func (p *jobPage) lines(m *model, width, room int) []string {
	if p.job == nil {
		return p.show(wrap(m.d.user(cmp.Or(p.trouble, "asking the farm")), width), room)
	}
	j := *p.job
	lines := []string{
		m.d.cut(fmt.Sprintf("%s  %s  %s running", m.d.status(j.Status, j.Status),
			m.d.bar(j.Items, min(50, max(10, width-30))), output.Running(j.Instances)), width),
		m.d.cut(fmt.Sprintf("%d items: %d complete, %d running, %d pending, %d blocked, %d failed, %d killed", j.Items.Total,
			j.Items.Complete,
			j.Items.Running, j.Items.Pending, j.Items.Blocked, j.Items.Failed, j.Items.Killed), width),
		"",
	}
	if text := cmp.Or(p.trouble, p.why.Reason, j.Reason); text != "" {
		lines = append(lines, wrap(m.d.user(text), width)...)
		for _, fact := range p.why.Facts {
			for n, part := range wrap(m.d.user(fact.Text), width-4) {
				lines = append(lines, []string{"  - ", "    "}[min(n, 1)]+part)
			}
		}
		lines = append(lines, "")
	}
	return p.show(append(lines, m.d.named(m.screen.Describe(j), width)...), room)
}

// hostPage is all about one host.
type hostPage struct {
	scroll
	name string
}

func (p *hostPage) title(m *model) string { return "host " + m.d.user(p.name) }
func (p *hostPage) hints(*model) string   { return "esc back  q quit  ? help  arrows scroll" }

func (p *hostPage) lines(m *model, width, room int) []string {
	n := slices.IndexFunc(m.look.hosts, func(h api.Host) bool { return h.Name == p.name })
	if n < 0 {
		return []string{"the host is not known any more"}
	}
	h := m.look.hosts[n]
	slots, swap := fmt.Sprintf("%d of %d in use", h.Slots.Used, h.Slots.Total), ""
	if h.Slots.Foreign > 0 {
		slots += fmt.Sprintf(", %d by programs outside the farm", h.Slots.Foreign)
	}
	if h.Swap.Total > 0 {
		swap = output.SwapOf(h)
	}
	fields := [][2]string{
		{"state", h.State}, {"slots", slots},
		{"memory", fmt.Sprintf("%s available of %s, %s promised, %s per idle slot", units.Size(h.Memory.Available),
			units.Size(h.Memory.Total),
			units.Size(h.Memory.Promised), units.Size(h.Memory.PerIdle))}, {"swap", swap},
		{"cluster", h.Cluster}, {"groups", strings.Join(h.Groups, ",")}, {"last seen", output.Moment(&h.LastSeenAt)},
		{"remark", output.HostRemark(h)},
	}
	fields = slices.DeleteFunc(fields, func(f [2]string) bool { return f[1] == "" })
	lines := append(m.d.named(fields, width), "")
	names := map[int64]string{}
	for _, j := range m.look.jobs {
		names[j.ID] = j.Name
	}
	for _, i := range h.Instances {
		text := fmt.Sprintf("  job %d %s, item %s: %s, %d slots, %s promised", i.Job, names[i.Job],
			cmp.Or(i.Item, "none yet"), i.Kind, i.Slots, units.Size(i.Memory))
		lines = append(lines, m.d.cut(m.d.user(text), width))
	}
	if len(h.Instances) == 0 {
		lines = append(lines, "  no items run here")
	}
	return p.show(lines, room)
}

// helpPage explains the keys and signs.
type helpPage struct{ scroll }

func (p *helpPage) title(*model) string { return "help" }
func (p *helpPage) hints(*model) string { return "esc back  q quit  arrows scroll" }

func (p *helpPage) lines(m *model, width, room int) []string {
	signs := m.d.bar(api.ItemCounts{Total: 4, Complete: 1, Running: 1, Failed: 1, Pending: 1}, 4)
	each := strings.Split(signs, "")
	return p.show(m.d.named([][2]string{
		{"up, down, j, k", "move the cursor; page up, page down, home and end, or g and G, as usual"},
		{"tab", "move between jobs and hosts"},
		{"enter", "open the job or host: why it waits, and all that is known of it"},
		{"i", "items of the job, with host, exit code, times and memory"},
		{"l", "follow the output of the item, or of the job's first running one"},
		{"/", "find: only rows with this text in id, name, user, cluster, status or reason"},
		{"f", "filter by state: running, waiting, failed, ended, all"},
		{"s, r", "sort by another column; reverse the order"},
		{"K", "kill the job, or the item in the list of items; asks first"},
		{"R", "retry what failed or was killed; asks first"},
		{"esc", "back; in the overview: clear the filters"},
		{"ctrl+l, ctrl+z", "draw the screen anew; suspend"},
		{"q, ctrl+c", "quit; jobs go on"},
		{"", ""},
		{"items", fmt.Sprintf("%s complete   %s running   %s failed or killed   %s waiting", each[0], each[1], each[2],
			each[3])},
		{"running", "4+6-1: 4 primary and 6 secondary instances, 1 is ending"},
		{"running (hosts)", m.d.user("12×3: three instances of job 12")},
		{"jobs", "unfinished ones, those that end while you watch, and the newest of those that ended within a day"},
	}, width), room)
}

// call calls the farm by a client of its own.
func (m *model) call(do func(context.Context, Farm) tea.Msg) tea.Cmd {
	ctx, farm := m.ctx, m.screen.Connect()
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, callsWithin)
		defer cancel()
		return do(ctx, farm)
	}
}

// itemsPage lists the items of a job.
type itemsPage struct {
	table[api.Item]
	job     api.Job
	all     []api.Item
	state   int // of itemFilters
	trouble string
	busy    bool
	next    time.Time // when they are asked for again
	rows    int
}

var itemFilters = []string{"", "running", "failed", "pending", "complete"}

type itemsArrived struct {
	page  *itemsPage
	items []api.Item
	took  time.Duration
	err   error
}

func newItemsPage(m *model, job api.Job) *itemsPage {
	now := m.screen.now
	return &itemsPage{job: job,
		table: table[api.Item]{columns: itemColumns(now), key: func(i api.Item) string { return strconv.Itoa(i.Number) }}}
}

func itemColumns(now func() time.Time) []column[api.Item] {
	type c = output.Column[api.Item]
	return []column[api.Item]{
		{Column: c{Name: "item", Member: "name", Right: true}, most: 24, least: 4},
		{Column: c{Name: "status", Status: true}},
		{Column: c{Name: "try", Member: "attempt", Right: true}, worth: 4},
		{Column: c{Name: "kind"}, worth: 1},
		{Column: c{Name: "host"}, most: 24, least: 6},
		{Column: c{Name: "exit", Right: true, Text: func(i api.Item) string { return output.Exit(i.ExitCode, i.Signal) }},
			worth: 6},
		{Column: c{Name: "time", Right: true, Text: func(i api.Item) string {
			switch {
			case i.StartedAt == nil:
				return ""
			case i.FinishedAt == nil:
				return output.Span(now().Sub(*i.StartedAt).Truncate(time.Second))
			}
			return output.Span(i.FinishedAt.Sub(*i.StartedAt))
		}}, worth: 5},
		{Column: c{Name: "cpu", Member: "cpu_seconds", Right: true, Number: output.Seconds}, worth: 2},
		{Column: c{Name: "memory", Member: "peak_memory", Right: true, Number: output.KnownSize}, worth: 3},
		{Column: c{Name: "reason"}},
	}
}

func (a itemsArrived) arrive(m *model) tea.Cmd {
	p := a.page
	p.busy, p.trouble = false, ""
	p.next = m.screen.now().Add(5 * a.took) // long lists less often
	if a.err != nil {
		p.trouble = a.err.Error()
		return nil
	}
	p.all = a.items
	p.filter()
	return nil
}

func (p *itemsPage) filter() {
	wanted := itemFilters[p.state]
	p.put(slices.DeleteFunc(slices.Clone(p.all), func(i api.Item) bool { return wanted != "" && i.Status != wanted }))
}

func (p *itemsPage) close() {}

func (p *itemsPage) refresh(m *model) tea.Cmd {
	if n := slices.IndexFunc(m.look.jobs, func(j api.Job) bool { return j.ID == p.job.ID }); n >= 0 {
		p.job = m.look.jobs[n]
	}
	if p.busy || m.screen.now().Before(p.next) {
		return nil
	}
	p.busy = true
	params := jobParam(p.job.ID) // the page is Update's; a call has what it needs
	return m.call(func(ctx context.Context, farm Farm) tea.Msg {
		began := time.Now()
		params["limit"] = strconv.Itoa(mostItems)
		a := itemsArrived{page: p}
		a.err = farm.Ask(ctx, api.ListItems, params, &a.items)
		a.took = time.Since(began)
		return a
	})
}

func (p *itemsPage) title(m *model) string {
	title := fmt.Sprintf("job %d %s  items", p.job.ID, m.d.user(p.job.Name))
	if f := itemFilters[p.state]; f != "" {
		title += "  " + f
	}
	if len(p.all) == mostItems && p.job.Items.Total > mostItems {
		title += fmt.Sprintf("  the first %s of %s", agenda.Grouped(mostItems), agenda.Grouped(p.job.Items.Total))
	}
	return title
}

func (p *itemsPage) hints(*model) string {
	return "esc back  q quit  ? help  l log  f filter  K kill item  R retry item"
}

func (p *itemsPage) key(m *model, key string) tea.Cmd {
	item, some := p.at()
	switch key {
	case "f":
		p.state = (p.state + 1) % len(itemFilters)
		p.filter()
		p.first()
	case "l", "enter", "right":
		if some {
			return m.push(newLogPage(m, p.job.ID, item.Name))
		}
	case "K", "R":
		if some {
			m.order(orders[key], p.job.ID, p.job.Name, item.Name)
		}
	default:
		p.steer(key, p.rows)
	}
	return nil
}

func (p *itemsPage) lines(m *model, width, room int) []string {
	if p.all == nil {
		return wrap(m.d.user(cmp.Or(p.trouble, "asking the farm")), width)
	}
	p.rows = room - 1
	lines := p.draw(m.d, width, room, true)
	if len(p.table.rows) == 0 {
		lines = append(lines, "  none")
	}
	return lines
}
