package usage

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"qb/api"
	"qb/limitwriter"
	"qb/pause"
)

// Limits of the command.
const (
	Limit      = 30 * time.Second // for which it may run
	MostOutput = 64 << 10         // bytes that are read
	MostLines  = 256
	mostName   = 80
	most       = 1_000_000_000
	killWait   = 5 * time.Second
)

// Poller asks the command.
type Poller struct {
	Command  []string // program and arguments
	Login    *syscall.Credential
	Interval time.Duration
	Log      *slog.Logger
	latest   atomic.Pointer[api.Usage]
	failed   bool
}

// Latest is what the command said last, before any run that failed; nil if it has said nothing.
func (p *Poller) Latest() *api.Usage {
	if p == nil {
		return nil
	}
	return p.latest.Load()
}

// Run asks until the context ends.
func (p *Poller) Run(ctx context.Context) {
	for number := int64(1); ; number++ {
		resources, err := p.ask(ctx)
		switch {
		case err != nil && !p.failed && ctx.Err() == nil:
			p.Log.Warn("the command of worker_resource_command failed; what it said last counts until it works again", "error", err)
		case err == nil && p.failed:
			p.Log.Info("the command of worker_resource_command works again")
		}
		p.failed = err != nil
		if err == nil {
			p.latest.Store(&api.Usage{Number: number, Resources: resources})
		}
		if pause.For(ctx, p.Interval) != nil {
			return
		}
	}
}

// ask runs the command once, in a group of processes that ends with it.
func (p *Poller) ask(ctx context.Context) ([]api.ResourceUse, error) {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: p.Login}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killWait
	out := limitwriter.Buffer{Most: MostOutput}
	cmd.Stdout = &out
	err := cmd.Run()
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	}
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return nil, fmt.Errorf("it ran for %s, the most", Limit)
	case err != nil:
		return nil, err
	case out.Over:
		return nil, fmt.Errorf("it wrote more than %d bytes", MostOutput)
	}
	return Parse(out.Bytes())
}

// Parse reads lines such as "license.nuke 60 12": a resource, how many exist, and how many are used outside of the farm. Blank
// lines, and those that begin with #, say nothing.
func Parse(text []byte) ([]api.ResourceUse, error) {
	list, seen := []api.ResourceUse{}, map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 3 || len(words[0]) > mostName || seen[words[0]] || len(list) == MostLines {
			return nil, fmt.Errorf("%.100q is no line NAME TOTAL USED, such as license.nuke 60 12, or names a resource again", lines.Text())
		}
		total, err1 := strconv.ParseInt(words[1], 10, 64)
		used, err2 := strconv.ParseInt(words[2], 10, 64)
		if err1 != nil || err2 != nil || total < 0 || used < 0 || max(total, used) > most {
			return nil, fmt.Errorf("%.100q: TOTAL and USED are numbers from 0 to %d", lines.Text(), most)
		}
		seen[words[0]] = true
		list = append(list, api.ResourceUse{Name: words[0], Total: total, Outside: used})
	}
	return list, lines.Err()
}
