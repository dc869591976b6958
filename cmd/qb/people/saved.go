package people

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"qb/api"
	"qb/cmd/qb/config"
	"qb/statedir"
)

// Saved is what a login leaves in the user's configuration folder, mode 0600: where the farm is, and the token for it.
type Saved struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

const maxSaved = 64 << 10

// savedFile is in the configuration folder of the user.
func savedFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", api.Errorf(api.KindUsage, "no configuration folder: HOME and XDG_CONFIG_HOME are not set")
	}
	return filepath.Join(dir, "qb", "login.json"), nil
}

// Load reads what the last login left; nil: there was none. A file of another user is none of the caller's.
func Load() (*Saved, error) {
	name, err := savedFile()
	if err != nil {
		return nil, nil
	}
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the login: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the login: %w", err)
	}
	if !config.OwnedBy(info, os.Geteuid()) {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSaved))
	saved := new(Saved)
	if err == nil {
		err = json.Unmarshal(data, saved)
	}
	if err != nil || saved.URL == "" || saved.Token == "" {
		return nil, api.Errorf(api.KindUsage, "%s is damaged; remove it and log in again", name)
	}
	return saved, nil
}

// save replaces what the login before left.
func (s Saved) save() (string, error) {
	name, err := savedFile()
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(name), 0o700)
	}
	if err == nil {
		err = statedir.ReplaceWith(name, 0o600, append(data, '\n'))
	}
	if err != nil {
		return "", fmt.Errorf("keeping the login: %w", err)
	}
	return name, nil
}

// forget removes what the login left.
func forget() error {
	name, err := savedFile()
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the login: %w", err)
	}
	return nil
}
