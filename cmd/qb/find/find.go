package find

import (
	"cmp"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/commandline"
	"qb/cmd/qb/config"
	"qb/cmd/qb/output"
	"qb/internal/statedir"
	"qb/supervisor/job/facts"
)

// Config reads the configuration that is in force for a command.
func Config(cmd *cobra.Command) (*config.Config, error) {
	file, _ := cmd.Flags().GetString("conf")
	return config.Load(config.Source{File: file, Program: commandline.TypedName(cmd), Warn: cmd.ErrOrStderr()})
}

// ClientConfig is the configuration for a command that asks a supervisor.
func ClientConfig(cmd *cobra.Command) (*config.Config, error) {
	file, _ := cmd.Flags().GetString("conf")
	return config.Load(config.Source{File: file, Program: commandline.TypedName(cmd), Warn: cmd.ErrOrStderr(),
		Client: true})
}

// Address is where a supervisor is, or several with commas between, the credential for it, and the accounts that it may
// run under on this machine beside root, the caller and the service's.
type Address struct {
	URL, Token string
	Trusted    []uint32
}

// Supervisor finds the farm: -supervisor or QB_SUPERVISOR, else client_supervisor, else the one of qb login unless
// QB_STATE names a farm of this machine, else farm.json. A farm of this machine is met at its socket, whose path no one
// else can take.
func Supervisor(cmd *cobra.Command, conf *config.Config) (Address, error) {
	farm, name, err := ReadFarm(conf)
	if err != nil {
		return Address{}, err
	}
	option, _ := cmd.Flags().GetString("supervisor")
	from := sources{option: option, env: os.Getenv("QB_SUPERVISOR"), conf: conf.ClientSupervisor}
	if from.login, err = ReadLogin(); err != nil {
		return Address{}, err
	}
	named := from.named()
	if named == "" && farm == nil {
		return Address{}, api.Errorf(api.KindUnavailable,
			"no farm found: there is no %s\nstart one with qb farm, log in to one with qb login URL, or name its supervisor with -supervisor or QB_SUPERVISOR", name)
	}
	if named == "" && gone(farm.PID) {
		return Address{}, api.Errorf(api.KindUnavailable,
			"the farm of %s is gone: its process %d has ended\nstart it again with qb farm", name, farm.PID)
	}
	where := Address{}
	if where.Trusted, err = Trusted(conf); err != nil {
		return Address{}, err
	}
	if where.Token, err = findToken(conf, farm, from); err != nil {
		return Address{}, err
	}
	if where.Token == "" && cmp.Or(os.Getenv("QB_TOKEN"), os.Getenv("QB_TOKEN_FILE")) != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: the token of the environment is not sent: it is for QB_SUPERVISOR = %s\n",
			commandline.TypedName(cmd), output.Escape(from.env))
	}
	switch {
	case named != "":
		where.URL = BySocket(named, farm)
	case farm.Socket != "":
		where.URL = "unix:" + farm.Socket
	default:
		where.URL = farm.URL
	}
	return where, nil
}

// BySocket replaces each address that is this machine's farm by its socket.
func BySocket(list string, farm *Farm) string {
	if farm == nil || farm.Socket == "" {
		return list
	}
	all := facts.SplitList(list)
	for n, one := range all {
		if sameService(one, farm.URL) {
			all[n] = "unix:" + farm.Socket
		}
	}
	return strings.Join(all, ",")
}

// Trusted are the accounts of client_trusted_users.
func Trusted(c *config.Config) ([]uint32, error) {
	var all []uint32
	for _, name := range c.ClientTrustedUsers {
		u, err := user.Lookup(name)
		if err != nil {
			return nil, c.WithOrigin(api.BadSetting("client_trusted_users", " names %q, which is no account of this machine",
				name))
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("the id of user %q: %w", name, err)
		}
		all = append(all, uint32(uid))
	}
	return all, nil
}

// sources are the ways to name a supervisor.
type sources struct {
	option, env, conf string
	login             *Login // nil: none
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
func findToken(conf *config.Config, farm *Farm, from sources) (string, error) {
	named := from.named()
	token, file := strings.TrimSpace(os.Getenv("QB_TOKEN")), os.Getenv("QB_TOKEN_FILE")
	confOwn := from.conf
	if confOwn == "" && farm != nil {
		confOwn = farm.URL + ",unix:" + farm.Socket
	}
	switch {
	case (token != "" || file != "") && MeantFor(named, from.env):
		if token != "" {
			return token, nil
		}
		return ReadToken(file)
	case conf.ClientTokenFile != "" && MeantFor(named, confOwn):
		return ReadToken(conf.ClientTokenFile)
	case from.login != nil && named != "" && MeantFor(named, from.login.URL):
		return from.login.Token, nil
	case farm == nil || farm.TokenFile == "" || farm.Socket != "" || named != "" && !sameService(named, farm.URL):
		return "", nil
	}
	token, err := ReadToken(farm.TokenFile)
	if err != nil {
		return "", nil // not readable: the supervisor says what is missing
	}
	return token, nil
}

// MeantFor says whether what belongs to one address, or to any if that is "", may go to each of the ones that are
// named.
func MeantFor(named, own string) bool {
	if own == "" {
		return true
	}
	owns := facts.SplitList(own)
	return !slices.ContainsFunc(facts.SplitList(named), func(one string) bool {
		return !slices.ContainsFunc(owns, func(other string) bool { return sameService(one, other) })
	})
}

func ReadToken(file string) (string, error) {
	data, err := statedir.ReadNamed(file)
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
	if errA != nil || errB != nil || a.Scheme != b.Scheme || a.Port() != b.Port() || a.Host == "" || a.User != nil ||
		b.User != nil {
		return false
	}
	return a.Host == b.Host || (isLoopback(a.Hostname()) && isLoopback(b.Hostname()))
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}
