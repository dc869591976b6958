package worker

import (
	"os"
	"syscall"

	"qb/api"
	"qb/worker/usage"
)

// newPoller is what asks worker_resource_command; nil: there is none. A worker of root runs it as another account.
func (a *agent) newPoller() (*usage.Poller, error) {
	c := a.config
	if len(c.ResourceCommand) == 0 {
		return nil, nil
	}
	p := &usage.Poller{Command: c.ResourceCommand, Interval: c.ResourceInterval.Std(), Log: a.log}
	switch {
	case os.Geteuid() != 0 && c.ResourceUser != "" && c.ResourceUser != a.launcher.agentUser:
		return nil, api.BadSetting("worker_resource_user", " = %q needs a worker run by root; this one runs the command as %s", c.ResourceUser, a.launcher.agentUser)
	case os.Geteuid() != 0:
		return p, nil
	case c.ResourceUser == "":
		return nil, api.BadSetting("worker_resource_user", " is empty: name the account under which worker_resource_command is to run, such as daemon")
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
