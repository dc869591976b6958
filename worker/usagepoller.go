package worker

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"qb/api"
	"qb/internal/limitwriter"
	"qb/internal/pause"
)

// Limits of the command.
const (
	usageWithin     = 30 * time.Second // for which it may run
	mostUsageOutput = 64 << 10         // bytes that are read
	mostUsageLines  = 256
	mostUsageName   = 80
	mostUsage       = 1_000_000_000
	usageKillWait   = 5 * time.Second
)

// usagePoller asks the command.
type usagePoller struct {
	Command  []string // program and arguments
	Login    *syscall.Credential
	Interval time.Duration
	Log      *slog.Logger
	latest   atomic.Pointer[api.Usage]
	failed   bool
}

// Latest is what the command said last, before any run that failed; nil if it has said nothing.
func (p *usagePoller) Latest() *api.Usage {
	if p == nil {
		return nil
	}
	return p.latest.Load()
}

// Run asks until the context ends.
func (p *usagePoller) Run(ctx context.Context) {
	for number := int64(1); ; number++ {
		resources, err := p.ask(ctx)
		switch {
		case err != nil && !p.failed && ctx.Err() == nil:
			p.Log.Warn("the command of worker_resource_command failed; its last counts apply until it works again", "error", err)
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
func (p *usagePoller) ask(ctx context.Context) ([]api.ResourceUse, error) {
	ctx, cancel := context.WithTimeout(ctx, usageWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.Command[0], p.Command[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: p.Login}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = usageKillWait
	out := limitwriter.Buffer{Most: mostUsageOutput}
	cmd.Stdout = &out
	err := cmd.Run()
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	}
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return nil, fmt.Errorf("the command did not end within %s", usageWithin)
	case err != nil:
		return nil, err
	case out.Over:
		return nil, fmt.Errorf("the command wrote more than %d bytes", mostUsageOutput)
	}
	return parseUsage(out.Bytes())
}

// parseUsage reads lines such as "license.nuke 60 12": a resource, how many exist, and how many are used outside of the
// farm. Blank lines, and the ones that begin with #, say nothing.
func parseUsage(text []byte) ([]api.ResourceUse, error) {
	list, seen := []api.ResourceUse{}, map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		switch {
		case len(words) != 3:
			return nil, fmt.Errorf("%.100q is no line NAME TOTAL USED, such as license.nuke 60 12", lines.Text())
		case len(words[0]) > mostUsageName:
			return nil, fmt.Errorf("%.100q: the name has more than %d bytes", lines.Text(), mostUsageName)
		case seen[words[0]]:
			return nil, fmt.Errorf("%.100q names a resource that an earlier line names; print one line for each", lines.Text())
		case len(list) == mostUsageLines:
			return nil, fmt.Errorf("the command printed more than %d resources", mostUsageLines)
		}
		total, err1 := strconv.ParseInt(words[1], 10, 64)
		used, err2 := strconv.ParseInt(words[2], 10, 64)
		if err1 != nil || err2 != nil || total < 0 || used < 0 || max(total, used) > mostUsage {
			return nil, fmt.Errorf("%.100q: TOTAL and USED are numbers from 0 to %d", lines.Text(), mostUsage)
		}
		seen[words[0]] = true
		list = append(list, api.ResourceUse{Name: words[0], Total: total, Outside: used})
	}
	return list, lines.Err()
}

// newPoller is what asks worker_resource_command; nil: there is none. A worker of root runs it as another account.
func (a *agent) newPoller() (*usagePoller, error) {
	c := a.config
	if len(c.ResourceCommand) == 0 {
		return nil, nil
	}
	p := &usagePoller{Command: c.ResourceCommand, Interval: c.ResourceInterval.Std(), Log: a.log}
	switch {
	case os.Geteuid() != 0 && c.ResourceUser != "" && c.ResourceUser != a.launcher.agentUser:
		return nil, api.BadSetting("worker_resource_user",
			" = %q needs a worker that root runs; this worker runs worker_resource_command as %s; remove worker_resource_user",
			c.ResourceUser, a.launcher.agentUser)
	case os.Geteuid() != 0:
		return p, nil
	case c.ResourceUser == "":
		return nil, api.BadSetting("worker_resource_user",
			" is empty: name the account under which worker_resource_command is to run, such as daemon")
	}
	owner := lookUpOwner(c.ResourceUser)
	if owner.known != nil {
		return nil, api.BadSetting("worker_resource_user", ": %v", owner.known)
	}
	if owner.login.UID == 0 {
		return nil, api.BadSetting("worker_resource_user", " = %q is root; name another account", c.ResourceUser)
	}
	p.Login = &syscall.Credential{Uid: owner.login.UID, Gid: owner.login.GID, Groups: owner.login.Groups}
	return p, nil
}
