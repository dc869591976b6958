package find

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"qb/api"
	"qb/internal/statedir"
)

// Login is what qb login leaves in the user's configuration folder, mode 0600: where the farm is, and the token for it.
type Login struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

const maxLogin = 64 << 10

// loginFile is in the configuration folder of the user.
func loginFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", api.Errorf(api.KindUsage, "no configuration folder: HOME and XDG_CONFIG_HOME are not set")
	}
	return filepath.Join(dir, "qb", "login.json"), nil
}

// ReadLogin reads what the last login left; nil: there was none. A file of another user is none of the caller's.
func ReadLogin() (*Login, error) {
	name, err := loginFile()
	if err != nil {
		return nil, nil
	}
	f, err := statedir.OpenNamed(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the login: %w", err)
	}
	defer f.Close()
	if mine, err := statedir.Mine(f); err != nil || !mine {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxLogin))
	saved := new(Login)
	if err == nil {
		err = json.Unmarshal(data, saved)
	}
	if err != nil || saved.URL == "" || saved.Token == "" {
		return nil, api.Errorf(api.KindUsage, "%s is damaged; remove it and log in again", name)
	}
	return saved, nil
}

// Save replaces what the login before left.
func (s Login) Save() (string, error) {
	name, err := loginFile()
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

// ForgetLogin removes what the login left.
func ForgetLogin() error {
	name, err := loginFile()
	if err == nil {
		err = os.Remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forgetting the login: %w", err)
	}
	return nil
}
