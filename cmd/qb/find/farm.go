package find

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"qb/api"
	"qb/cmd/qb/config"
	"qb/internal/statedir"
)

// Farm is STATE/farm.json: how commands find a farm that qb farm started. The one beside the socket, which all
// users may read, has only where that is.
type Farm struct {
	URL         string `json:"url"`
	Socket      string `json:"socket,omitempty"`
	TokenFile   string `json:"token_file,omitempty"`
	PID         int    `json:"pid,omitempty"`
	DatabaseURL string `json:"database_url,omitempty"`
}

const FarmJSON = "farm.json"

// SystemState is the state folder of root, and of the services of examples/systemd.
const SystemState = api.StateFolder

// DefaultState is the state folder of a farm without -state.
func DefaultState() (string, error) {
	if dir := os.Getenv("QB_STATE"); dir != "" {
		return filepath.Abs(dir)
	}
	if os.Geteuid() == 0 {
		return SystemState, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "qb"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", api.Errorf(api.KindUsage,
			"no state folder: QB_STATE, XDG_STATE_HOME and HOME are not set; give -state DIR")
	}
	return filepath.Join(home, ".local", "state", "qb"), nil
}

// ReadFarm reads the first farm.json that is there, nil if there is none. The first place is the folder QB_STATE, or
// without it supervisor_state, or without both the default state folder. Without QB_STATE there are two more places:
// the system's state folder, if the caller owns it, such as the service's user; then the file that the machine's
// service shows to all users. The returned name is the path of the first place.
func ReadFarm(conf *config.Config) (*Farm, string, error) {
	state, stateErr := DefaultState()
	named := os.Getenv("QB_STATE") != ""
	if !named && conf.SupervisorKeys.State != "" {
		state, stateErr = filepath.Abs(conf.SupervisorKeys.State)
	}
	own := filepath.Join(state, FarmJSON)
	var places []farmFile
	if stateErr == nil {
		places = append(places, farmFile{own, statedir.ReadNamed})
	}
	if !named {
		places = append(places, farmFile{filepath.Join(SystemState, FarmJSON), readOwn})
	}
	if !named || state == SystemState {
		places = append(places, farmFile{filepath.Join(api.RunFolder, FarmJSON), statedir.ReadNamed})
	}
	farm, err := farmAt(places)
	if farm == nil && err == nil {
		err = stateErr
	}
	return farm, own, err
}

// farmFile is a file that may name a farm, and how it is read.
type farmFile struct {
	name string
	read func(string) ([]byte, error)
}

// farmAt reads the first file that is there. A farm whose process has ended gives way to another one.
func farmAt(places []farmFile) (found *Farm, err error) {
	for _, place := range places {
		data, err := place.read(place.name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("finding the farm: %w", err)
		}
		var farm Farm
		if err := json.Unmarshal(data, &farm); err != nil {
			return nil, fmt.Errorf("%s is damaged (%w); start qb farm again, or name the supervisor with -supervisor",
				place.name, err)
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
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	mine, err := statedir.Mine(dir)
	if err != nil {
		return nil, err
	}
	if !mine {
		return nil, fs.ErrPermission
	}
	return statedir.ReadNamed(name)
}
