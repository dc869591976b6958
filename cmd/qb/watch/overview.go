package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"qb/agenda"
	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

// overview is the list of jobs with the hosts below.
type overview struct {
	jobs   table[api.Job]
	hosts  table[api.Host]
	onHost bool // the cursor is in the hosts

	sort     int // of sorts
	reversed bool
	states   int // of stateFilters
	text     string
	typing   bool

	page int // rows that were drawn last where the cursor is
}

// sorts are the orders of jobs; each falls back on the next line's last resort, the id.
var sorts = []struct {
	name    string
	compare func(a, b api.Job) int
}{
	{"running first", func(a, b api.Job) int { return cmp.Compare(rank(a), rank(b)) }},
	{"newest", func(a, b api.Job) int { return cmp.Compare(b.ID, a.ID) }},
	{"user", func(a, b api.Job) int { return cmp.Compare(a.User, b.User) }},
	{"name", func(a, b api.Job) int { return cmp.Compare(a.Name, b.Name) }},
	{"priority", func(a, b api.Job) int { return cmp.Compare(a.Priority, b.Priority) }},
	{"most running", func(a, b api.Job) int { return cmp.Compare(b.Items.Running, a.Items.Running) }},
	{"most failed", func(a, b api.Job) int { return cmp.Compare(b.Items.Failed, a.Items.Failed) }},
}

// rank puts what moves before what waits, and that before what is over.
func rank(j api.Job) int {
	if j.Instances.Primary+j.Instances.Secondary+j.Instances.Draining > 0 {
		return 0
	}
	return 1 + slices.Index([]string{"running", "pending", "blocked", "suspended", "failed", "killed", "complete"},
		j.Status)
}

var stateFilters = []struct {
	name   string
	states []string
}{
	{"", nil}, {"running", []string{"running"}}, {"waiting", []string{"pending", "blocked", "suspended"}},
	{"failed", nil}, {"ended", finished},
}

func newOverview(d drawing) overview {
	return overview{
		jobs:  table[api.Job]{columns: jobColumns(d), key: func(j api.Job) string { return strconv.FormatInt(j.ID, 10) }},
		hosts: table[api.Host]{columns: hostColumns(d), key: func(h api.Host) string { return h.Name }},
	}
}

func jobColumns(d drawing) []column[api.Job] {
	type c = output.Column[api.Job]
	return []column[api.Job]{
		{Column: c{Name: "id", Right: true}},
		{Column: c{Name: "name"}, most: 32, least: 10},
		{Column: c{Name: "user"}, most: 16, worth: 6},
		{Column: c{Name: "status", Status: true}, worth: 9},
		{Column: c{Name: "pri", Member: "priority", Right: true}, worth: 4},
		{Column: c{Name: "cluster"}, most: 20, worth: 2},
		{Column: c{Name: "cpus", Right: true}, worth: 3},
		{Column: c{Name: "max", Member: "max_cpus_effective", Right: true}, worth: 1},
		{Column: c{Name: "running", Right: true, Text: func(j api.Job) string {
			if j.Instances == (api.InstanceCounts{}) {
				return "-"
			}
			return output.Running(j.Instances)
		}}},
		{Column: c{Name: "items"}, most: 12, least: 6, worth: 7,
			bar: func(j api.Job, n int) string { return d.bar(j.Items, n) }},
		{Column: c{Name: "done", Right: true, Text: func(j api.Job) string {
			return fmt.Sprintf("%d/%d", j.Items.Complete,
				j.Items.Total)
		}}, worth: 8},
		{Column: c{Name: "failed", Right: true, Member: "items.failed", Number: someText,
			Style: func(j api.Job) lipgloss.Style {
				if j.Items.Failed == 0 {
					return lipgloss.NewStyle()
				}
				return output.StatusStyle("failed")
			}}},
		{Column: c{Name: "reason"}},
	}
}

// someText writes a number, and a dash for none.
func someText(n float64) string {
	if n == 0 {
		return "-"
	}
	return strconv.Itoa(int(n))
}

func hostColumns(d drawing) []column[api.Host] {
	type c = output.Column[api.Host]
	return []column[api.Host]{
		{Column: c{Name: "host", Member: "name"}, most: 24, least: 8},
		{Column: c{Name: "state", Status: true}},
		{Column: c{Name: "slots", Right: true, Text: func(h api.Host) string {
			return fmt.Sprintf("%d/%d", h.Slots.Used,
				h.Slots.Total)
		}}},
		{Column: c{Name: "in use"}, most: 12, least: 8, worth: 4,
			bar: func(h api.Host, n int) string { return d.slotBar(h.Slots, n) }},
		{Column: c{Name: "free memory", Right: true, Text: func(h api.Host) string {
			return units.Size(h.Memory.Available) + " of " + units.Size(h.Memory.Total)
		}}, worth: 3},
		{Column: c{Name: "cluster"}, most: 20, worth: 1},
		{Column: c{Name: "groups"}, most: 20, worth: 2},
		{Column: c{Name: "running", Text: output.JobsOn}, most: 30, least: 16},
		{Column: c{Name: "remark", Text: output.HostRemark, Style: output.RemarkStyle}},
	}
}

// took sorts and filters what was seen.
func (o *overview) took(look Look) {
	jobs := slices.DeleteFunc(slices.Clone(look.jobs), func(j api.Job) bool { return !o.wants(j) })
	compare := sorts[o.sort].compare
	slices.SortStableFunc(jobs, func(a, b api.Job) int {
		if o.reversed {
			return cmp.Or(compare(b, a), cmp.Compare(b.ID, a.ID))
		}
		return cmp.Or(compare(a, b), cmp.Compare(a.ID, b.ID))
	})
	o.jobs.put(jobs)
	hosts := slices.DeleteFunc(slices.Clone(look.hosts), func(h api.Host) bool {
		return o.onHost && !o.matches(h.Name, h.State, h.Cluster, strings.Join(h.Groups, ","))
	})
	slices.SortStableFunc(hosts, func(a, b api.Host) int { return cmp.Compare(a.Name, b.Name) })
	o.hosts.put(hosts)
}

func (o *overview) wants(j api.Job) bool {
	f := stateFilters[o.states]
	if f.name == "failed" && j.Items.Failed == 0 && j.Status != "failed" || f.states != nil &&
		!slices.Contains(f.states, j.Status) {
		return false
	}
	return o.onHost || o.matches(strconv.FormatInt(j.ID, 10), j.Name, j.User, j.Cluster, j.Status, j.Reason)
}

// matches says whether one of the texts has what was typed, whatever its case.
func (o *overview) matches(texts ...string) bool {
	wanted := strings.ToLower(o.text)
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), wanted) })
}

// typed takes a key of the filter's text.
func (o *overview) typed(m *model, msg tea.KeyPressMsg) {
	switch key := msg.String(); {
	case key == "enter":
		o.typing = false
	case key == "esc":
		o.typing, o.text = false, ""
	case key == "backspace":
		_, size := utf8.DecodeLastRuneInString(o.text)
		o.text = o.text[:len(o.text)-size]
	case msg.Text != "" && len(o.text) < 100:
		o.text += msg.Text
	}
	o.took(m.look)
}

func (o *overview) key(m *model, key string) tea.Cmd {
	job, some := o.jobs.at()
	some = some && !o.onHost
	switch key {
	case "tab", "shift+tab":
		o.onHost, o.text = !o.onHost, ""
	case "s", "r":
		if o.reversed = key == "r" && !o.reversed; key == "s" {
			o.sort = (o.sort + 1) % len(sorts)
		}
		o.took(m.look)
		o.jobs.first()
		return nil
	case "f":
		o.states = (o.states + 1) % len(stateFilters)
	case "/":
		o.typing = true
	case "esc":
		o.text, o.states = "", 0
	case "enter", "right", "i", "l", "K", "R":
		switch {
		case some:
			return o.open(m, key, job)
		case o.onHost && (key == "enter" || key == "right"):
			if host, ok := o.hosts.at(); ok {
				return m.push(&hostPage{name: host.Name})
			}
		}
		return nil
	default:
		if o.onHost {
			o.hosts.steer(key, o.page)
		} else {
			o.jobs.steer(key, o.page)
		}
		return nil
	}
	o.took(m.look)
	return nil
}

// open opens a page about a job, or asks for an order on it.
func (o *overview) open(m *model, key string, job api.Job) tea.Cmd {
	switch key {
	case "i":
		return m.push(newItemsPage(m, job))
	case "l":
		if item, ok := m.runningItem(job.ID); ok {
			return m.push(newLogPage(m, job.ID, item))
		}
		m.say("no item of the job runs: choose one whose output to show, then press l", false)
		return m.push(newItemsPage(m, job))
	case "K", "R":
		m.order(orders[key], job.ID, job.Name, "")
		return nil
	}
	return m.push(&jobPage{id: job.ID})
}

// runningItem is the first item of a job that runs anywhere.
func (m *model) runningItem(job int64) (name string, ok bool) {
	least := -1
	for _, h := range m.look.hosts {
		for _, i := range h.Instances {
			if i.Job == job && i.Item != "" && (least < 0 || i.Number < least) {
				least, name = i.Number, i.Item
			}
		}
	}
	return name, least >= 0
}

// hostRows is how many lines the hosts get of a room: as many as they need, while the jobs do not need them more.
func (o *overview) hostRows(room int) int {
	need, jobs := len(o.hosts.rows)+2, len(o.jobs.rows)+1 // a heading each, and a blank line between
	switch {
	case room < 12:
		return 0
	case o.onHost:
		return max(min(need, room*2/3), room-max(jobs, room/3))
	}
	return min(need, max(room/4, room-jobs))
}

func (o *overview) lines(m *model, width, room int) []string {
	rows := o.hostRows(room)
	if rows == 0 {
		o.page = room - 1
		if o.onHost {
			return o.hosts.draw(m.d, width, room, true)
		}
		return o.drawJobs(m, width, room)
	}
	lines := o.drawJobs(m, width, room-rows)
	for len(lines) < room-rows {
		lines = append(lines, "")
	}
	if o.page = room - rows - 1; o.onHost {
		o.page = rows - 2
	}
	return append(append(lines, ""), o.hosts.draw(m.d, width, rows-1, o.onHost)...)
}

func (o *overview) drawJobs(m *model, width, room int) []string {
	lines := o.jobs.draw(m.d, width, room, !o.onHost)
	if len(o.jobs.rows) == 0 {
		lines = append(lines, "  "+o.nothing(m))
	}
	return lines
}

// nothing says why no job is listed.
func (o *overview) nothing(m *model) string {
	if len(m.look.jobs) > 0 {
		return fmt.Sprintf("none of %s jobs passes the filter; esc clears it", agenda.Grouped(len(m.look.jobs)))
	}
	if user := m.screen.Options.User; user != "" {
		return "no jobs of " + m.d.user(user)
	}
	return "no jobs; qbsub submits one"
}

func (o *overview) close()                 {}
func (o *overview) refresh(*model) tea.Cmd { return nil } // each look brings it

// title says in what way the list is not all.
func (o *overview) title(m *model) string {
	var words []string
	if user := m.screen.Options.User; user != "" {
		words = append(words, "user "+m.d.user(user))
	}
	if f := stateFilters[o.states].name; f != "" {
		words = append(words, f+" jobs")
	}
	if o.text != "" {
		words = append(words, fmt.Sprintf("with %q", m.d.user(o.text)))
	}
	if o.sort != 0 || o.reversed {
		order := "by " + sorts[o.sort].name
		if o.reversed {
			order += ", reversed"
		}
		words = append(words, order)
	}
	if len(o.jobs.rows) > o.page+1 && o.page > 0 && !o.onHost {
		words = append(words, fmt.Sprintf("%s-%s of %s", agenda.Grouped(o.jobs.top+1),
			agenda.Grouped(min(o.jobs.top+o.page, len(o.jobs.rows))), agenda.Grouped(len(o.jobs.rows))))
	}
	if m.look.more {
		words = append(words, fmt.Sprintf("the newest %s unfinished", agenda.Grouped(mostJobs)))
	}
	return strings.Join(words, "  ")
}

// detail is what the table had no room for.
func (o *overview) detail(m *model) string {
	if o.onHost {
		if h, ok := o.hosts.at(); ok {
			return m.d.user(cmp.Or(output.HostRemark(h), h.Name+": "+cmp.Or(output.JobsOn(h), "no items run here")))
		}
		return ""
	}
	j, ok := o.jobs.at()
	if !ok {
		return ""
	}
	about := cmp.Or(j.Reason, fmt.Sprintf("%s of %s, %d of %d items done", j.Name, j.User, j.Items.Complete,
		j.Items.Total))
	return m.d.user(fmt.Sprintf("%d: %s", j.ID, about))
}

func (o *overview) hints(*model) string {
	return "q quit  ? help  enter open  i items  l log  f filter  s sort  / find  K kill  R retry  tab hosts"
}

// sums are the slots, and the jobs and items by what they do.
func (m *model) sums(width int) string {
	var slots api.SlotCounts
	up := 0
	for _, h := range m.look.hosts {
		if h.State == "up" {
			up++
			slots.Used, slots.Total = slots.Used+h.Slots.Used, slots.Total+h.Slots.Total
		}
	}
	var jobs, items [3]int // running, waiting, failed
	for _, j := range m.look.jobs {
		switch {
		case j.Status == "failed":
			jobs[2]++
		case j.Status == "running":
			jobs[0]++
		case !slices.Contains(finished, j.Status):
			jobs[1]++
		}
		items[0] = items[0] + j.Items.Running
		items[1] = items[1] + j.Items.Pending + j.Items.Blocked
		items[2] = items[2] + j.Items.Failed
	}
	line := fmt.Sprintf("%s of %s slots   ", agenda.Grouped(slots.Used), agenda.Grouped(slots.Total))
	all := fmt.Sprintf("jobs %s   items %s", m.three(jobs), m.three(items))
	hosts := fmt.Sprintf("   hosts %d of %d up", up, len(m.look.hosts))
	switch {
	case cells(line+all+hosts) <= width:
		return line + all + hosts
	case cells(line+all) <= width:
		return line + all
	}
	if short := line + "jobs " + m.three(jobs); cells(short) <= width {
		return short
	}
	return fmt.Sprintf("%d/%d  %d run %d wait %d fail", slots.Used, slots.Total, jobs[0], jobs[1], jobs[2])
}

func (m *model) three(n [3]int) string {
	failed := fmt.Sprintf("%s failed", agenda.Grouped(n[2]))
	if n[2] > 0 {
		failed = m.d.status("failed", failed)
	}
	return fmt.Sprintf("%s running, %s waiting, %s", agenda.Grouped(n[0]), agenda.Grouped(n[1]), failed)
}
