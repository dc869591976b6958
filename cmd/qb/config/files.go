package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"qb/api"
)

// hereFile is the file of the current folder. Whoever packed a project that is unpacked there wrote it, so it has no reach.
const hereFile = "qb.conf"

// withReach are the keys that say where to connect, which secrets to use, what to run and as whom, and where to store.
var withReach = []string{
	"client_supervisor", "client_token_file", "client_trusted_users", "worker_supervisor", "worker_token_file",
	"supervisor_listen", "supervisor_names", "supervisor_tls_cert", "supervisor_tls_key", "supervisor_socket", "supervisor_key_file", "database_url", "database_bindir",
	"supervisor_state", "supervisor_logpath", "worker_state", "worker_run_as", "worker_allow_root", "worker_pass_env", "worker_path_map", "worker_picture_command",
	"worker_low_users_file", "worker_lowest_uid", "supervisor_worker_configfile", "worker_resource_command", "worker_resource_user", "supervisor_resource_hosts", "worker_no_new_privs", "worker_core_dumps", "worker_open_files",
	"supervisor_users", "supervisor_groups", "supervisor_log_access", "supervisor_default_security", "supervisor_approve_hosts",
	"supervisor_oidc_issuer", "supervisor_oidc_client_id", "supervisor_oidc_client_secret_file", "supervisor_oidc_scopes",
	"supervisor_oidc_user_claim", "supervisor_oidc_domain", "supervisor_oidc_groups_claim", "supervisor_oidc_admit",
	"mail_host", "mail_port", "mail_tls", "mail_from", "mail_domain", "mail_user", "mail_password_file",
}

const maxConfig = 1 << 20

// readFiles reads the file that -conf or QB_CONF names; without, the machine's, the user's and the current folder's,
// of which the later wins. Of those a file that others may write is ignored.
func (c *Config) readFiles(from Source) error {
	name := cmp.Or(from.File, os.Getenv("QB_CONF"))
	if name != "" {
		c.Named = true
		return c.readFile(name)
	}
	places := []string{"/etc/qb.conf"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "qb", "qb.conf"))
	}
	for _, name := range append(places, hereFile) {
		text, err := readPrivate(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			fmt.Fprintf(from.Warn, "%s: ignoring %s: %v; -conf %s uses it all the same\n", from.Program, shownFile(name), err, name)
			continue
		}
		if name == hereFile {
			err = c.parseHere(from, text)
		} else {
			err = c.parse(name, text)
		}
		if err != nil && name == hereFile && from.Client {
			fmt.Fprintf(from.Warn, "%s: ignoring ./%v\n", from.Program, err)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func shownFile(name string) string {
	if name == hereFile {
		return "./" + hereFile
	}
	return name
}

// parseHere takes what the current folder's file may set, and says what it may not.
func (c *Config) parseHere(by Source, text string) error {
	here := &Config{Keys: defaultKeys(), Origins: map[string]string{}}
	if err := here.parse(hereFile, text); err != nil {
		return err
	}
	c.File = hereFile
	from := here.settings()
	var ignored []string
	for n, s := range c.settings() {
		switch origin := here.Origins[s.key]; {
		case origin == "":
		case slices.Contains(withReach, s.key):
			ignored = append(ignored, s.key+" ("+origin+")")
		default:
			s.value.Set(from[n].value)
			c.Origins[s.key] = origin
		}
	}
	if len(ignored) > 0 {
		fmt.Fprintf(by.Warn, "%s: ignoring %s: the current folder's file may not say where to connect, which token to use, what to run, as whom, or where to store;"+
			" write it in ~/.config/qb/qb.conf or /etc/qb.conf, or name the file: -conf %s or QB_CONF\n",
			by.Program, strings.Join(ignored, ", "), hereFile)
	}
	return nil
}

// readPrivate reads a file that only root and this user can have written. It looks at the open file and folder, not at
// their names, which may mean something else a moment later.
func readPrivate(name string) (string, error) {
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return "", unreadable(err)
	}
	defer dir.Close()
	flags := unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	if name == hereFile {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat(int(dir.Fd()), filepath.Base(name), flags, 0)
	if err != nil {
		if errors.Is(err, unix.ELOOP) {
			return "", errors.New("it is a link")
		}
		return "", unreadable(err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	for _, one := range []struct {
		what string
		file *os.File
	}{{"its folder", dir}, {"it", f}} {
		info, err := one.file.Stat()
		switch {
		case err != nil:
			return "", err
		case !ownedByUsOrRoot(info):
			return "", fmt.Errorf("%s belongs to another user", one.what)
		case info.Mode().Perm()&0o022 != 0:
			return "", fmt.Errorf("%s can be written by others (mode %04o)", one.what, info.Mode().Perm())
		case one.file == f && !info.Mode().IsRegular():
			return "", errors.New("it is not a regular file")
		}
	}
	return readConfig(f)
}

// unreadable takes a folder that may not be entered for one without the file.
func unreadable(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fs.ErrNotExist
	}
	return err
}

func (c *Config) readFile(name string) error {
	text, err := readNamed(name)
	if err != nil {
		return err
	}
	return c.parse(name, text)
}

// readNamed reads a file that a person has named.
func readNamed(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", api.Errorf(api.KindInvalid, "configuration: %v", err)
	}
	defer f.Close()
	text, err := readConfig(f)
	if err != nil {
		return "", api.Errorf(api.KindInvalid, "configuration %s: %v", name, err)
	}
	return text, nil
}

func readConfig(f *os.File) (string, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("longer than %d bytes", maxConfig)
	}
	return string(text), err
}
