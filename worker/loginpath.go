package worker

import (
	"bufio"
	"cmp"
	"io"
	"os"
	"strings"
)

// Files that say what PATH a login has on this machine.
const (
	environmentFile = "/etc/environment" // PAM's, for all users
	loginFile       = "/etc/login.defs"  // of login and su
	loginFileMost   = 64 << 10           // bytes that are read
)

// loginPath is the PATH that a login of the user begins with, before a shell reads its profile; "" if the machine does
// not say.
func loginPath(uid uint32, environment, login string) string {
	key := "ENV_PATH"
	if uid == 0 {
		key = "ENV_SUPATH"
	}
	return cmp.Or(
		settingIn(environment, func(line string) (string, bool) {
			return strings.CutPrefix(strings.TrimPrefix(line, "export "), "PATH=")
		}),
		settingIn(login, func(line string) (string, bool) {
			words := strings.Fields(line)
			if len(words) != 2 || words[0] != key {
				return "", false
			}
			return strings.TrimPrefix(words[1], "PATH="), true
		}),
	)
}

// settingIn is the value on the last line of a file that has one.
func settingIn(name string, read func(line string) (string, bool)) (found string) {
	file, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	for lines := bufio.NewScanner(io.LimitReader(file, loginFileMost)); lines.Scan(); {
		if value, ok := read(strings.TrimSpace(lines.Text())); ok {
			found = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return found
}
