package worker

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"qb/api"
	"qb/worker/settings"
)

const lowUsersMost = 64 << 10 // bytes of the file

// unnamed says whether a uid is one of the ones that stand for users without a number here: those of the kernel for ids
// that it cannot map or store in 16 bits (65534), and -1 and -2.
func unnamed(uid uint32) bool {
	return uid == 65534 || uid == 65535 || uid >= 1<<32-2
}

// mayBeLow says whether an account of the system is listed in the host's own file.
func mayBeLow(path, name string) error {
	if path == "" {
		return fmt.Errorf("worker_low_users_file is empty, so no such user is allowed")
	}
	names, err := lowNames(path)
	if err == nil && !slices.Contains(names, name) {
		return fmt.Errorf("worker_low_users_file = %s does not list %s", path, name)
	}
	return err
}

// lowNames reads the names of system accounts from the host's own file, one on each line. It refuses a file that users
// other than root may change.
func lowNames(path string) ([]string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("worker_low_users_file = %s cannot be read: %w", path, err)
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != 0 || st.Mode&0o022 != 0 {
		return nil, fmt.Errorf("worker_low_users_file = %s is no regular file, or users other than root may change it; name a file of root with mode 0644", path)
	}
	var names []string
	lines := bufio.NewScanner(io.LimitReader(file, lowUsersMost))
	for lines.Scan() {
		if line, _, _ := strings.Cut(lines.Text(), "#"); strings.TrimSpace(line) != "" {
			names = append(names, strings.TrimSpace(line))
		}
	}
	return names, lines.Err()
}

// checkLowUsers logs why a file of worker_low_users_file that is there cannot be used.
func checkLowUsers(c settings.Config, log *slog.Logger) {
	path := c.LowUsersFile
	if c.RunAs != settings.RunAsOwner || path == "" {
		return
	}
	if _, err := lowNames(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("no user below worker_lowest_uid runs items here", "error", err)
	}
}

// mostLowNames is how many of them are sent to the supervisor.
const mostLowNames = 1000

// owners is what the supervisor is sent about the users whom this worker serves.
func ownersOf(c settings.Config) *api.SyncOwners {
	if c.RunAs != settings.RunAsOwner {
		return nil
	}
	o := &api.SyncOwners{AllowRoot: c.AllowRoot, LowestUID: c.LowestUID}
	if names, err := lowNames(c.LowUsersFile); err == nil { // without it no one is listed
		o.LowUsers = names[:min(len(names), mostLowNames)]
	}
	return o
}
