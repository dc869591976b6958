package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
	"qb/cmd/qb/output"
	"qb/cmd/qb/people"
)

// farmFile is STATE/farm.json: how commands find a farm that qb farm started. The one beside the socket, which all
// users may read, has only where that is.
type farmFile struct {
	URL         string `json:"url"`
	Socket      string `json:"socket,omitempty"`
	TokenFile   string `json:"token_file,omitempty"`
	PID         int    `json:"pid,omitempty"`
	DatabaseURL string `json:"database_url,omitempty"`
}

const farmJSON = "farm.json"

// systemState is the state folder of root, and of the services of examples/systemd.
const systemState = api.StateFolder

// defaultState is the state folder of a farm without -state.
func defaultState() (string, error) {
	if dir := os.Getenv("QB_STATE"); dir != "" {
		return filepath.Abs(dir)
	}
	if os.Geteuid() == 0 {
		return systemState, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "qb"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", api.Errorf(api.KindUsage, "no state folder: QB_STATE, XDG_STATE_HOME and HOME are not set; give -state DIR")
	}
	return filepath.Join(home, ".local", "state", "qb"), nil
}

// readFarmFile reads farm.json of QB_STATE, else of supervisor_state, else of the default state folder; without QB_STATE,
// else of the system's if that is the caller's own, as the service's user has it, else the one that the machine's service
// shows to all users; nil if there is none. The name is that of the first.
func readFarmFile(conf *config.Config) (*farmFile, string, error) {
	state, stateErr := defaultState()
	named := os.Getenv("QB_STATE") != ""
	if !named && conf.SupervisorKeys.State != "" {
		state, stateErr = filepath.Abs(conf.SupervisorKeys.State)
	}
	own := filepath.Join(state, farmJSON)
	var places []farmPlace
	if stateErr == nil {
		places = append(places, farmPlace{own, os.ReadFile})
	}
	if !named {
		places = append(places, farmPlace{filepath.Join(systemState, farmJSON), readOwn})
	}
	if !named || state == systemState {
		places = append(places, farmPlace{filepath.Join(api.RunFolder, farmJSON), os.ReadFile})
	}
	farm, err := farmAt(places)
	if farm == nil && err == nil {
		err = stateErr
	}
	return farm, own, err
}

// farmPlace is a file that may name a farm, and how it is read.
type farmPlace struct {
	name string
	read func(string) ([]byte, error)
}

// farmAt reads the first file that is there. A farm whose process has ended gives way to another one.
func farmAt(places []farmPlace) (found *farmFile, err error) {
	for _, place := range places {
		data, err := place.read(place.name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("finding the farm: %w", err)
		}
		var farm farmFile
		if err := json.Unmarshal(data, &farm); err != nil {
			return nil, fmt.Errorf("%s is damaged (%w); start qb farm again, or name the supervisor with -supervisor", place.name, err)
		}
		if found == nil || farm.Socket != found.Socket {
			found = &farm
		}
		if !gone(found.PID) {
			break
		}
	}
	return found, nil
}

// readOwn reads a file in a folder of the caller's.
func readOwn(name string) ([]byte, error) {
	info, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	if !config.OwnedBy(info, os.Geteuid()) {
		return nil, fs.ErrPermission
	}
	return os.ReadFile(name)
}

// address is where a supervisor is, or several with commas between, the credential for it, and the accounts that it may
// run under on this machine beside root, the caller and the service's.
type address struct {
	url, token string
	trusted    []uint32
}

// findSupervisor finds the farm: -supervisor or QB_SUPERVISOR, else client_supervisor, else the one of qb login unless QB_STATE
// names a farm of this machine, else farm.json. A farm of this
// machine is met at its socket, whose path nobody else can take.
func findSupervisor(cmd *cobra.Command, conf *config.Config) (address, error) {
	farm, name, err := readFarmFile(conf)
	if err != nil {
		return address{}, err
	}
	option, _ := cmd.Flags().GetString("supervisor")
	from := sources{option: option, env: os.Getenv("QB_SUPERVISOR"), conf: conf.ClientSupervisor}
	if from.login, err = people.Load(); err != nil {
		return address{}, err
	}
	named := from.named()
	if named == "" && farm == nil {
		return address{}, api.Errorf(api.KindUnavailable,
			"no farm found: there is no %s\nstart one with qb farm, log in to one with qb login URL, or name its supervisor with -supervisor or QB_SUPERVISOR", name)
	}
	if named == "" && gone(farm.PID) {
		return address{}, api.Errorf(api.KindUnavailable, "the farm of %s is gone: its process %d has ended\nstart it again with qb farm", name, farm.PID)
	}
	where := address{}
	if where.trusted, err = trusted(conf); err != nil {
		return address{}, err
	}
	if where.token, err = findToken(conf, farm, from); err != nil {
		return address{}, err
	}
	if where.token == "" && cmp.Or(os.Getenv("QB_TOKEN"), os.Getenv("QB_TOKEN_FILE")) != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: the token of the environment is not sent: it is for QB_SUPERVISOR = %s\n", commandline.TypedName(cmd), output.Escape(from.env))
	}
	switch {
	case named != "":
		where.url = bySocket(named, farm)
	case farm.Socket != "":
		where.url = "unix:" + farm.Socket
	default:
		where.url = farm.URL
	}
	return where, nil
}

// bySocket replaces each address that is this machine's farm by its socket.
func bySocket(list string, farm *farmFile) string {
	if farm == nil || farm.Socket == "" {
		return list
	}
	all := addressesOf(list)
	for n, one := range all {
		if sameService(one, farm.URL) {
			all[n] = "unix:" + farm.Socket
		}
	}
	return strings.Join(all, ",")
}

// trusted are the accounts of client_trusted_users.
func trusted(c *config.Config) ([]uint32, error) {
	var all []uint32
	for _, name := range c.ClientTrustedUsers {
		u, err := user.Lookup(name)
		if err != nil {
			return nil, c.WithOrigin(api.BadSetting("client_trusted_users", " names %q, which is no account of this machine", output.Escape(name)))
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("the id of user %q: %w", output.Escape(name), err)
		}
		all = append(all, uint32(uid))
	}
	return all, nil
}

// gone says whether a process has ended for sure.
func gone(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// sources are the ways to name a supervisor.
type sources struct {
	option, env, conf string
	login             *people.Saved // nil: none
}

// named is the address asked for, "" for this machine's farm.
func (s sources) named() string {
	named := cmp.Or(s.option, s.env, s.conf)
	if named == "" && s.login != nil && os.Getenv("QB_STATE") == "" {
		named = s.login.URL
	}
	return named
}

// findToken finds the credential for the supervisor that is addressed. Each goes to the address that it is for, and to
// no other: QB_TOKEN or QB_TOKEN_FILE to QB_SUPERVISOR, where that is set; client_token_file to client_supervisor,
// else to this machine's farm; that of a login to the address of the login; the farm's own token file to it alone. Its
// socket needs none.
func findToken(conf *config.Config, farm *farmFile, from sources) (string, error) {
	named := from.named()
	token, file := strings.TrimSpace(os.Getenv("QB_TOKEN")), os.Getenv("QB_TOKEN_FILE")
	confOwn := from.conf
	if confOwn == "" && farm != nil {
		confOwn = farm.URL + ",unix:" + farm.Socket
	}
	switch {
	case (token != "" || file != "") && meantFor(named, from.env):
		if token != "" {
			return token, nil
		}
		return readToken(file)
	case conf.ClientTokenFile != "" && meantFor(named, confOwn):
		return readToken(conf.ClientTokenFile)
	case from.login != nil && named != "" && meantFor(named, from.login.URL):
		return from.login.Token, nil
	case farm == nil || farm.TokenFile == "" || farm.Socket != "" || named != "" && !sameService(named, farm.URL):
		return "", nil
	}
	token, err := readToken(farm.TokenFile)
	if err != nil {
		return "", nil // not readable: the supervisor says what is missing
	}
	return token, nil
}

// meantFor says whether what belongs to one address, or to any if that is "", may go to each of those that are named.
func meantFor(named, own string) bool {
	if own == "" {
		return true
	}
	owns := addressesOf(own)
	return !slices.ContainsFunc(addressesOf(named), func(one string) bool {
		return !slices.ContainsFunc(owns, func(other string) bool { return sameService(one, other) })
	})
}

func readToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", api.Errorf(api.KindUnauthorized, "reading the token: %v", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// sameService says whether two addresses are one: equal, or two names of loopback with the same port.
func sameService(one, other string) bool {
	if one == other {
		return true
	}
	a, errA := url.Parse(one)
	b, errB := url.Parse(other)
	if errA != nil || errB != nil || a.Scheme != b.Scheme || a.Port() != b.Port() || a.Host == "" || a.User != nil || b.User != nil {
		return false
	}
	return a.Host == b.Host || (isLoopback(a.Hostname()) && isLoopback(b.Hostname()))
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}
