package worker

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"qb/api"
	"qb/worker/core"
	"qb/worker/proc"
	"qb/worker/settings"
	"qb/worker/shim"
)

// launcher turns an item into what a shim needs, with the rights and the environment of its owner.
type launcher struct {
	runAs      string
	agentUser  string
	allowRoot  bool
	passEnv    []string
	supervisor string
	host       string
	hidesGPUs  atomic.Bool // from items that hold none
	logLimit   int64
	lowest     int    // uid
	lowUsers   string // file of exceptions
	private    shim.Private
	temps      string // folder of items' own folders; empty: they have none
	instances  string // folder of the instances' folders
	environ    func() []string
	programs   string   // folder of qb's programs
	paths      []string // entries of worker_path_map

	mu     sync.Mutex
	owners map[string]ownerFacts
}

// ownerFacts are kept for a minute: a lookup may go over the network.
type ownerFacts struct {
	login       shim.Login
	home, shell string
	path        string // of a login; "": not known
	known       error
	at          time.Time
}

const (
	ownerFactsLife = time.Minute
	maxOwners      = 4096
)

// ownerFor is whom an item runs as, which may have to be asked of the network.
func (l *launcher) ownerFor(spec api.JobSpec) (ownerFacts, error) {
	owner, err := l.ownerOf(spec.User)
	if err != nil {
		return owner, shim.Refused(err)
	}
	if uid := spec.UID; uid != nil && owner.known == nil && *uid != int64(owner.login.UID) {
		return owner, shim.UIDDiffers(fmt.Errorf("%q has the uid %d here, and %d where the job was submitted: the name may mean two people; give the user the same uid on all machines", spec.User, owner.login.UID, *uid))
	}
	return owner, nil
}

// orderFor makes the order for one attempt. An error is a reason for the attempt's end; see shim.Unstarted.
func (l *launcher) orderFor(item core.Item, owner ownerFacts) (shim.RunCommand, error) {
	item, err := l.translated(item)
	if err != nil {
		return shim.RunCommand{}, err
	}
	spec, d := item.Spec, item.Desired
	order := shim.RunCommand{Attempt: d.Attempt, Instance: d.Instance, Umask: 0o022, LogLimit: l.logLimit, Dir: spec.Cwd}
	if d.HardLimit {
		order.Memory = d.Memory
	}
	if spec.Umask != nil {
		order.Umask = *spec.Umask & 0o777
	}
	if l.runAs == settings.RunAsOwner {
		order.Login = &owner.login
	}
	order.Private = l.private
	order.Private.Temp = l.tempOf(item)
	room := newExpansion()
	if order.Argv, err = arguments(item, room); err != nil {
		return shim.RunCommand{}, err
	}
	if order.Env, err = l.environment(item, owner); err != nil {
		return shim.RunCommand{}, err
	}
	if err = flights(item, time.Now(), &order, room); err != nil {
		return shim.RunCommand{}, err
	}
	order.NoLicence = d.NoLicence
	if order.Session, err = l.session(item); err != nil {
		return shim.RunCommand{}, err
	}
	if order.Dir == "" {
		order.Dir, order.DirOptional = owner.home, true
	}
	if order.DirOptional && !strings.HasPrefix(order.Dir, "/") {
		order.Dir = "/"
	}
	if strings.ContainsRune(order.Dir, 0) || !strings.HasPrefix(order.Dir, "/") {
		return shim.RunCommand{}, fmt.Errorf("the working directory %q is not an absolute path", shown(order.Dir))
	}
	return order, measure(&order)
}

func arguments(item core.Item, room *expansion) ([]string, error) {
	command := item.Spec.Command
	if len(command) == 0 || command[0] == "" {
		return nil, errors.New("the command is empty")
	}
	for n, word := range command {
		if strings.ContainsRune(word, 0) {
			return nil, fmt.Errorf("%s holds a NUL", argument(n))
		}
	}
	values := itemTokens(item)
	if item.Spec.Shell {
		line, err := values.inShell(strings.Join(command, " "), room.most(0))
		return []string{"/bin/sh", "-c", line}, room.took("the item's command", line, 0, err)
	}
	argv := make([]string, len(command))
	for n, word := range command {
		text, err := values.inArgument(word, room.most(0))
		if err := room.took(argument(n), text, 0, err); err != nil {
			return nil, err
		}
		argv[n] = text
	}
	return argv, nil
}

// environment is built from nothing: of the agent's own only what names the locale, the time zone and
// the path comes along, and what worker_pass_env lists, so that no credential of the agent does.
func (l *launcher) environment(item core.Item, owner ownerFacts) ([]string, error) {
	env := map[string]string{"PATH": shim.DefaultPath}
	for _, entry := range l.environ() {
		name, value, _ := strings.Cut(entry, "=")
		if l.passes(name) {
			env[name] = value
		}
	}
	if l.runAs == settings.RunAsOwner && owner.path != "" && !slices.Contains(l.passEnv, "PATH") {
		env["PATH"] = owner.path
	}
	if l.temps != "" {
		env["TMPDIR"] = l.seenTemp(item)
	}
	env["HOME"], env["SHELL"] = owner.home, owner.shell
	env["USER"], env["LOGNAME"] = item.Spec.User, item.Spec.User
	if l.runAs == settings.RunAsAgent {
		env["USER"], env["LOGNAME"] = l.agentUser, l.agentUser
	}
	job := ofJob(item)
	if l.hidesGPUs.Load() && !holdsGPUs(item) {
		maps.Copy(env, api.NoGPUVariables(job))
	}
	for _, more := range []map[string]string{job, item.Desired.Env, gpus(item)} {
		for name, value := range more {
			if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
				return nil, fmt.Errorf("the environment variable %q has = or NUL in its name, or NUL in its value; rename the variable or remove the NUL", shown(name))
			}
			env[name] = value
		}
	}
	maps.Copy(env, l.itemVariables(item))
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list, nil
}

// ofJob is the environment of an item's job without what belongs to another instance: if it has a mark, it is a copy of
// that item's. Beside GPUs that the item holds, ROCR_VISIBLE_DEVICES of the job would make other ones of their numbers.
func ofJob(item core.Item) map[string]string {
	env := item.Spec.Env
	_, copied := env[proc.MarkVariable]
	_, numbers := env["ROCR_VISIBLE_DEVICES"]
	if numbers = numbers && holdsGPUs(item); !copied && !numbers {
		return env
	}
	own := maps.Clone(env)
	maps.DeleteFunc(own, func(name, _ string) bool {
		return copied && api.IsItemVariable(name) || numbers && name == "ROCR_VISIBLE_DEVICES"
	})
	return own
}

func holdsGPUs(item core.Item) bool { return item.Desired.Env["QB_GPUS"] != "" }

// gpus tells an item by the variables of all runtimes which GPUs it holds.
func gpus(item core.Item) map[string]string {
	if !holdsGPUs(item) {
		return nil
	}
	return api.GPUVariables(item.Desired.Env["QB_GPUS"])
}

func (l *launcher) passes(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ":
		return true
	case "PATH", "TMPDIR":
		return l.runAs == settings.RunAsAgent || slices.Contains(l.passEnv, name)
	}
	return strings.HasPrefix(name, "LC_") || slices.Contains(l.passEnv, name)
}

func (l *launcher) itemVariables(item core.Item) map[string]string {
	d, spec := item.Desired, item.Spec
	slots := strconv.Itoa(max(d.Slots, 1))
	env := map[string]string{
		"QBJOBID": fmt.Sprint(d.Attempt.Job), "QBSUBID": strconv.Itoa(d.Instance),
		"QBPGRPID":    fmt.Sprint(cmp.Or(spec.PGrp, spec.Job)),
		"QB_JOBSLOTS": slots, "QB_ALLOCATIONS": "host.processors=" + slots,
		"QB_FRAME_PADDING": strconv.Itoa(spec.Padding), "QB_SUPERVISOR": l.supervisor,
		"QB_ATTEMPT": strconv.Itoa(d.Attempt.Number), "QB_ITEM": strconv.Itoa(d.Attempt.Item), "QB_HOST": l.host,
		"QBDIR": l.programs, "QB_DOMAIN": ".",
		"QB_KILL_GRACE": strconv.FormatFloat(item.Grace.Seconds(), 'f', -1, 64),
	}
	if spec.LoadOnce {
		env["QB_WORK"] = l.workSocket(item, l.seenTemp)
	}
	for _, token := range itemTokens(item) {
		env[token.name] = token.value
		if number := unpadded(token.value); !strings.Contains(token.name, "PADDED") && plainForShell(token.value) {
			env[token.name] = number
		}
	}
	return env
}

// ownerOf finds whom an item runs as, and refuses whom this host may not serve.
func (l *launcher) ownerOf(name string) (ownerFacts, error) {
	if l.runAs == settings.RunAsAgent && name != l.agentUser {
		return ownerFacts{}, fmt.Errorf("the host's worker runs all items as %s (worker_run_as = %q), so it runs no jobs of %q; for jobs of all users, run the worker as root with worker_run_as = \"owner\"", l.agentUser, settings.RunAsAgent, name)
	}
	owner := l.lookUp(name)
	switch {
	case l.runAs == settings.RunAsAgent:
		owner.home = cmp.Or(shim.Variable(l.environ(), "HOME"), owner.home)
		return owner, nil
	case owner.known != nil:
		return owner, owner.known
	}
	return owner, l.mayServe(name, owner.login.UID)
}

// mayServe refuses root, where that is not allowed, and accounts of the system that the host's own file does not list.
func (l *launcher) mayServe(name string, uid uint32) error {
	why := ""
	switch {
	case uid == 0 && !l.allowRoot:
		return fmt.Errorf("%q is root here, and root's jobs run only where worker_allow_root is true", name)
	case uid == 0:
		return nil
	case unnamed(uid):
		why = "is that of nobody"
	case int64(uid) < int64(l.lowest):
		why = fmt.Sprintf("is below worker_lowest_uid = %d", l.lowest)
	default:
		return nil
	}
	if err := mayBeLow(l.lowUsers, name); err != nil {
		return fmt.Errorf("%q has the uid %d here, which %s, and %w", name, uid, why, err)
	}
	return nil
}

func (l *launcher) lookUp(name string) ownerFacts {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.owners[name]; ok && time.Since(known.at) < ownerFactsLife {
		return known
	}
	if len(l.owners) >= maxOwners {
		clear(l.owners)
	}
	facts := lookUpOwner(name)
	facts.at = time.Now()
	l.owners[name] = facts
	return facts
}

func lookUpOwner(name string) ownerFacts {
	facts := ownerFacts{home: "/", shell: "/bin/sh"}
	u, err := user.Lookup(name)
	if err != nil {
		facts.known = fmt.Errorf("the host does not know the user %q; add the user there, or keep the user's jobs from this host", name)
		return facts
	}
	facts.home = u.HomeDir
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	groups, groupsErr := u.GroupIds()
	if err := errors.Join(err, gidErr, groupsErr); err != nil {
		facts.known = fmt.Errorf("the user %q has ids that cannot be used: %w", name, err)
		return facts
	}
	facts.path = loginPath(uint32(uid), environmentFile, loginFile)
	facts.login = shim.Login{UID: uint32(uid), GID: uint32(gid)}
	for _, g := range groups {
		if id, err := strconv.ParseUint(g, 10, 32); err == nil {
			facts.login.Groups = append(facts.login.Groups, uint32(id))
		}
	}
	return facts
}
