package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"qb/api"
)

// farmFile is STATE/farm.json: how commands find a farm that qb farm started.
type farmFile struct {
	URL         string `json:"url"`
	Socket      string `json:"socket,omitempty"` // for local users without a token
	TokenFile   string `json:"token_file"`
	PID         int    `json:"pid"`
	DatabaseURL string `json:"database_url"`
}

// systemState is the state folder of root, and of the services of examples/systemd.
const systemState = "/var/lib/qb"

// defaultState is the state folder of a farm that was not told another.
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

// readFarmFile reads farm.json of the default state folder, else of the system's if that is the caller's own, as the
// service's user has it; nil if there is none. The name is that of the first.
func readFarmFile() (*farmFile, string, error) {
	state, err := defaultState()
	if err != nil {
		return nil, "", err
	}
	name := filepath.Join(state, "farm.json")
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("QB_STATE") == "" {
		if own, ownErr := readOwn(filepath.Join(systemState, "farm.json")); ownErr == nil {
			data, err = own, nil
		}
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, name, nil
	}
	if err != nil {
		return nil, name, fmt.Errorf("finding the farm: %w", err)
	}
	var farm farmFile
	if err := json.Unmarshal(data, &farm); err != nil {
		return nil, name, fmt.Errorf("%s is damaged (%w); start qb farm again, or name the supervisor with -supervisor", name, err)
	}
	return &farm, name, nil
}

// readOwn reads a file in a folder of the caller's.
func readOwn(name string) ([]byte, error) {
	info, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	if !ownedBy(info, os.Geteuid()) {
		return nil, fs.ErrPermission
	}
	return os.ReadFile(name)
}

// address is where a supervisor is, or several with commas between, and the credential for it.
type address struct {
	url, token string
}

// findSupervisor finds the farm: -supervisor or QB_SUPERVISOR, else client_supervisor, else farm.json.
func findSupervisor(cmd *cobra.Command) (address, error) {
	conf, err := loadConfig(cmd)
	if err != nil {
		return address{}, err
	}
	farm, name, err := readFarmFile()
	if err != nil {
		return address{}, err
	}
	named, _ := cmd.Flags().GetString("supervisor")
	for _, other := range []string{os.Getenv("QB_SUPERVISOR"), conf.ClientSupervisor} {
		if named == "" {
			named = other
		}
	}
	if named == "" && farm == nil {
		return address{}, api.Errorf(api.KindUnavailable,
			"no farm found: there is no %s\nstart one with qb farm, or name its supervisor with -supervisor or QB_SUPERVISOR", name)
	}
	if named == "" && gone(farm.PID) {
		// Whoever took the address since must not be given the token.
		return address{}, api.Errorf(api.KindUnavailable, "the farm of %s is gone: its process %d has ended\nstart it again with qb farm", name, farm.PID)
	}
	token, err := findToken(conf, farm, named)
	if err != nil {
		return address{}, err
	}
	switch {
	case named != "":
		return address{url: named, token: token}, nil
	case token == "" && farm.Socket != "":
		return address{url: "unix:" + farm.Socket}, nil
	}
	return address{url: farm.URL, token: token}, nil
}

// gone says whether a process has ended for sure.
func gone(pid int) bool { return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// findToken finds the credential: QB_TOKEN, else QB_TOKEN_FILE, else client_token_file, else the token
// file of the farm that is addressed. Another supervisor never gets the farm's token.
func findToken(conf *loaded, farm *farmFile, named string) (string, error) {
	if token := strings.TrimSpace(os.Getenv("QB_TOKEN")); token != "" {
		return token, nil
	}
	file := os.Getenv("QB_TOKEN_FILE")
	if file == "" {
		file = conf.ClientTokenFile
	}
	if file != "" {
		return readToken(file)
	}
	if farm == nil || (named != "" && !sameService(named, farm)) {
		return "", nil
	}
	token, err := readToken(farm.TokenFile)
	if err != nil {
		return "", nil // not readable: the socket may do, else the supervisor says what is missing
	}
	return token, nil
}

func readToken(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", api.Errorf(api.KindUnauthorized, "reading the token: %v", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// sameService says whether an address given by hand is the farm's: equal, or another name of loopback
// with the same port.
func sameService(named string, farm *farmFile) bool {
	if named == "unix:"+farm.Socket && farm.Socket != "" {
		return true
	}
	a, errA := url.Parse(named)
	b, errB := url.Parse(farm.URL)
	if errA != nil || errB != nil || a.Scheme != b.Scheme || a.Port() != b.Port() {
		return false
	}
	return a.Host == b.Host || (isLoopback(a.Hostname()) && isLoopback(b.Hostname()))
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}
