package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"qb/agenda"
	"qb/api"
	"qb/cmd/qb/output"
)

// ErrLeft is the end of a watch that someone left before the jobs that it waits for had ended.
var ErrLeft = errors.New("left before the jobs had ended")

const (
	sayFor      = 6 * time.Second // how long the status line shows what was done
	callsWithin = 30 * time.Second
	leastHeight = 6 // of a window that has room for more than rows
)

// Screen is a watch on a whole terminal.
type Screen struct {
	Options  Options
	Connect  func() Farm                      // a client of its own for each kind of call
	Describe func(api.Job) [][2]string        // all that is known of a job, by name
	now      func() time.Time                 // the clock
	every    func(time.Duration, any) tea.Cmd // sends a message later
}

// Run shows the farm until someone leaves, ctx ends, or all jobs have ended if it waits for that. The first look comes
// before the screen, so that a farm or a job that is not there is an error as of any command. Begin is called when the
// screen is about to be taken: from then on nothing else may write to it.
func (s Screen) Run(ctx context.Context, begin func()) error {
	m := newModel(s, newDrawing())
	m.source = &source{farm: s.Connect(), now: time.Now, ids: s.Options.IDs, user: s.Options.User, ended: true}
	first, err := m.source.look(ctx)
	if err != nil {
		return err
	}
	m.took(first)
	calls, cancel := context.WithCancel(ctx)
	defer cancel()
	m.ctx = calls
	begin()
	p := tea.NewProgram(m, tea.WithoutSignalHandler(), tea.WithFPS(30))
	defer context.AfterFunc(ctx, p.Quit)()
	if _, err := p.Run(); err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	if ctx.Err() != nil {
		return leave(ctx, s.Options)
	}
	return m.verdict()
}

// Messages of the farm and of the clock.
type (
	lookMsg struct {
		look Look
		err  error
	}
	againMsg struct{} // time for the next look
	clockMsg struct{}
	saidMsg  struct {
		text string
		bad  bool
	}
)

// page is the overview, or what is open over it.
type page interface {
	title(m *model) string                      // may be empty
	lines(m *model, width, height int) []string // at most height, none wider than width
	key(m *model, key string) tea.Cmd
	hints(m *model) string
	refresh(m *model) tea.Cmd // after each look
	close()
}

// question is a change that waits for a y.
type question struct {
	text string
	do   tea.Cmd
}

// model is the state of the screen.
type model struct {
	screen Screen
	d      drawing
	ctx    context.Context
	source *source

	width, height int
	look          Look
	away          time.Time // since when no supervisor has answered; zero: it does
	trouble       string    // why the last look failed

	overview overview
	pages    []page // the overview, and what was opened over it
	ask      *question
	said     string
	saidBad  bool
	saidAt   time.Time
	over     bool // all jobs that were waited for have ended
}

func newModel(s Screen, d drawing) *model {
	if s.now == nil {
		s.now = time.Now
	}
	if s.every == nil {
		s.every = func(after time.Duration, msg any) tea.Cmd {
			return tea.Tick(after, func(time.Time) tea.Msg { return msg })
		}
	}
	m := &model{screen: s, d: d, ctx: context.Background(), width: 80, height: 24}
	m.overview = newOverview(d)
	m.pages = []page{&m.overview}
	return m
}

// verdict is how the program ends.
func (m *model) verdict() error {
	switch {
	case m.over:
		return verdict(m.look.jobs)
	case m.screen.Options.UntilDone:
		return ErrLeft
	}
	return nil
}

// Init starts the clock and the looks.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.screen.every(m.screen.Options.Every, againMsg{}), m.screen.every(time.Second, clockMsg{}))
}

// Update takes one message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m, tea.ClearScreen
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case clockMsg:
		return m, m.screen.every(time.Second, clockMsg{})
	case againMsg:
		return m, m.lookAgain()
	case lookMsg:
		return m, m.looked(msg)
	case saidMsg:
		m.say(msg.text, msg.bad)
		return m, m.open().refresh(m) // the overview follows with the next look: one look at a time
	case pageMsg:
		return m, msg.arrive(m)
	}
	return m, nil
}

// pageMsg is what a page asked for.
type pageMsg interface{ arrive(m *model) tea.Cmd }

func (m *model) lookAgain() tea.Cmd {
	source, ctx := m.source, m.ctx
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, callsWithin)
		defer cancel()
		look, err := source.look(ctx)
		if unavailable(err) {
			_ = source.farm.Find() // it may have come back elsewhere; if not, the old address is tried again
		}
		return lookMsg{look, err}
	}
}

func (m *model) looked(msg lookMsg) tea.Cmd {
	again := m.screen.every(m.screen.Options.Every, againMsg{})
	now := m.screen.now()
	switch {
	case unavailable(msg.err):
		if m.away.IsZero() {
			m.away = now
		}
		m.trouble = ""
		return again
	case msg.err != nil:
		m.trouble = msg.err.Error()
		return again
	}
	if !m.away.IsZero() {
		m.say(fmt.Sprintf("the supervisor is back after %s", output.Span(now.Sub(m.away))), false)
	}
	m.away, m.trouble = time.Time{}, ""
	m.took(msg.look)
	if m.screen.Options.UntilDone && allEnded(m.look.jobs) {
		m.over = true
		return tea.Quit
	}
	return tea.Batch(again, m.open().refresh(m))
}

func (m *model) took(look Look) {
	m.look = look
	m.overview.took(look)
}

// say shows a text in the status line for a while.
func (m *model) say(text string, bad bool) {
	m.said = text
	m.saidBad = bad
	m.saidAt = m.screen.now()
}

func (m *model) open() page { return m.pages[len(m.pages)-1] }

func (m *model) push(p page) tea.Cmd {
	m.pages = append(m.pages, p)
	return p.refresh(m)
}

func (m *model) back() {
	m.open().close()
	m.pages = m.pages[:len(m.pages)-1]
}

// press takes a key: first for a question, then for a text that is being typed, then for the page that is open.
func (m *model) press(msg tea.KeyPressMsg) tea.Cmd {
	key := msg.String()
	if key == "ctrl+c" {
		return tea.Quit
	}
	if m.ask != nil {
		ask := m.ask
		m.ask = nil
		if key == "y" || key == "Y" {
			m.say("…", false)
			return ask.do
		}
		m.say("nothing changed", false)
		return nil
	}
	if m.overview.typing {
		m.overview.typed(m, msg)
		return nil
	}
	m.said = ""
	switch key {
	case "q":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+l":
		return tea.ClearScreen
	case "?", "f1":
		if _, ok := m.open().(*helpPage); ok {
			m.back()
			return nil
		}
		return m.push(&helpPage{})
	case "esc", "left", "backspace":
		if len(m.pages) > 1 {
			m.back()
			return nil
		}
	}
	return m.open().key(m, key)
}

// orders are what two keys order.
var orders = map[string]string{"K": "kill", "R": "retry"}

// order asks whether to carry out an order on a job or one of its items.
func (m *model) order(action string, job int64, name, item string) {
	what := fmt.Sprintf("job %d %s", job, m.d.user(name))
	if item != "" {
		what = fmt.Sprintf("item %s of job %d %s", m.d.user(item), job, m.d.user(name))
	}
	d := m.d
	m.ask = &question{text: action + " " + what + "?", do: m.call(func(ctx context.Context, farm Farm) tea.Msg {
		reply, err := farm.Order(ctx, job, item, action)
		if err != nil {
			return saidMsg{d.user(err.Error()), true}
		}
		return saidMsg{d.user(orderText(action, what, reply)), reply.Affected == 0 && reply.Order == 0}
	})}
}

func orderText(action, what string, reply api.ActionReply) string {
	var text string
	switch {
	case reply.Order != 0:
		text = fmt.Sprintf("%s %s: under way, %s of %s", action, what, agenda.Grouped(reply.Done),
			agenda.Grouped(reply.Affected))
	case reply.Affected == 0:
		text = fmt.Sprintf("%s %s: nothing changed", action, what)
	default:
		text = fmt.Sprintf("%s %s: %s affected", action, what, agenda.Grouped(reply.Affected))
	}
	return strings.Join(append([]string{text}, reply.Remarks...), "; ")
}

// View draws the whole screen.
func (m *model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	return v
}

// lines are exactly as many as the window has, none wider than it.
func (m *model) lines() []string {
	width, height := max(m.width, 1), max(m.height, 1)
	var foot []string
	above := 0
	switch {
	case height >= leastHeight:
		above, foot = 2, m.foot(width)
	case m.ask != nil || m.overview.typing:
		foot = m.foot(width)[:1]
	}
	room := max(0, height-above-len(foot))
	body := m.open().lines(m, width, room)
	for len(body) < room {
		body = append(body, "")
	}
	var lines []string
	if above > 0 { // it says which part of the body is shown
		lines = m.head(width)
	}
	lines = append(append(lines, body[:room]...), foot...)
	for n, line := range lines {
		lines[n] = m.d.cut(line, width)
	}
	return lines
}

// head says what is shown, the sums and the time.
func (m *model) head(width int) []string {
	title := "qb watch"
	if about := m.open().title(m); about != "" {
		title += "  " + about
	}
	clock := m.screen.now().Format("15:04:05")
	return []string{m.d.bold(m.d.sides(m.d.cut(title, max(1, width-len(clock)-2)), clock, width)), m.sums(width)}
}

// foot is what happened, or the row at the cursor, and a line of the keys. Where there is room for it, a long text gets
// two lines; their number does not change with the text, so that the tables stay where they are.
func (m *model) foot(width int) []string {
	rows := 1
	if m.height >= 20 {
		rows = 2
	}
	text, style, hints := m.news()
	lines := wrap(text, width)
	if len(lines) > rows {
		lines = append(lines[:rows-1], m.d.cut(strings.Join(lines[rows-1:], " "), width))
	}
	for n := range lines {
		lines[n] = m.d.status(style, lines[n])
	}
	for len(lines) < rows {
		lines = append(lines, "")
	}
	return append(lines, m.fitting(hints, width))
}

// news is the text of the status line, its style as that of a state, and which keys do what.
func (m *model) news() (text, style, hints string) {
	hints = m.open().hints(m)
	now := m.screen.now()
	switch {
	case m.ask != nil:
		return m.ask.text, "blocked", "y yes  any other key: no"
	case m.overview.typing:
		return "find: " + m.d.user(m.overview.text) + "_", "", "enter apply  esc clear"
	case m.said != "" && now.Sub(m.saidAt) < sayFor:
		if m.saidBad {
			style = "failed"
		}
		return m.said, style, hints
	case !m.away.IsZero():
		return fmt.Sprintf("no supervisor answers since %s (%s); what is shown is of %s; trying again",
				m.away.Format("15:04:05"), output.Span(now.Sub(m.away).Truncate(time.Second)), m.look.at.Format("15:04:05")),
			"failed", hints
	case m.trouble != "":
		return m.d.user(m.trouble), "failed", hints
	case len(m.pages) == 1:
		return m.overview.detail(m), "", hints
	}
	return "", "", hints
}

// fitting are as many hints as fit, those at the left first.
func (m *model) fitting(hints string, width int) string {
	line := ""
	for hint := range strings.SplitSeq(hints, "  ") {
		if cells(line)+cells(hint)+2 > width {
			break
		}
		line += hint + "  "
	}
	return strings.TrimRight(line, " ")
}
