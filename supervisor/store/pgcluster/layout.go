package pgcluster

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
)

// The superuser and the database of a private cluster, and the number in the name of its socket.
const (
	superuser  = "qb"
	database   = "qb"
	port       = "5432"
	socketName = ".s.PGSQL." + port
)

// maxSocketPath is the kernel's limit on a unix socket's path, in bytes.
const maxSocketPath = 107

// layout is where everything of one cluster lies, and whom it runs as.
type layout struct {
	state, data, sockets, logfile string
	bin                           binaries
	user                          *account
	log                           *slog.Logger
}

// findLayout settles all that can be settled without starting anything.
func findLayout(ctx context.Context, cfg Config) (*layout, error) {
	state, err := filepath.Abs(cfg.State)
	if err == nil {
		state, err = filepath.EvalSymlinks(state)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the state folder: %w", err)
	}
	l := &layout{state: state, data: filepath.Join(state, "pg"), logfile: filepath.Join(state, "postgres.log"),
		log: cfg.Log}
	have, err := clusterMajor(l.data)
	if err != nil {
		return nil, err
	}
	if l.bin, err = findBinaries(ctx, cfg.BinDir, have); err != nil {
		return nil, err
	}
	if l.user, err = serverAccount(ctx, l.data, cfg.Log); err != nil {
		return nil, err
	}
	if err := l.user.admit(state); err != nil {
		return nil, err
	}
	if l.user != nil {
		if err := l.user.checkParents(l.bin.dir); err != nil {
			return nil, err
		}
	}
	l.sockets = l.socketFolder()
	return l, nil
}

// socketFolder lies in the state folder, or, where that path is too long for a socket, in a run folder under a hash
// of it.
func (l *layout) socketFolder() string {
	inside := filepath.Join(l.state, "run")
	if len(filepath.Join(inside, socketName)) <= maxSocketPath {
		return inside
	}
	base := "/tmp"
	if run := os.Getenv("XDG_RUNTIME_DIR"); os.Geteuid() != 0 && filepath.IsAbs(run) && len(run) < maxSocketPath/2 {
		base = run
	} else if os.Geteuid() == 0 {
		base = "/run"
	}
	return filepath.Join(base, fmt.Sprintf("qb-%x", sha256.Sum256([]byte(l.state)))[:19])
}

// makeSocketFolder makes a folder that only the server's user and root can enter.
func (l *layout) makeSocketFolder() error {
	if err := os.Mkdir(l.sockets, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("making the socket folder: %w", err)
	}
	// In a shared folder another user may have made a folder of this name, to intercept connections. In the state folder
	// no other user can, and a folder that an earlier account of the server owns is taken over.
	var st syscall.Stat_t
	if err := syscall.Lstat(l.sockets, &st); err != nil {
		return fmt.Errorf("looking at the socket folder: %w", err)
	}
	ours := st.Uid == uint32(os.Geteuid()) || (l.user != nil && st.Uid == l.user.uid) || filepath.Dir(l.sockets) == l.state
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR || !ours {
		return fmt.Errorf("%s is not a folder of this account (its user id is %d); remove it, or give another -state",
			l.sockets, st.Uid)
	}
	if err := l.user.own(l.sockets); err != nil {
		return fmt.Errorf("giving the socket folder to its user: %w", err)
	}
	if err := os.Chmod(l.sockets, 0o700); err != nil {
		return fmt.Errorf("closing the socket folder to others: %w", err)
	}
	return nil
}

// dropSocketFolder removes a socket folder outside of the state folder, where no other clean-up would find it.
func (l *layout) dropSocketFolder() {
	if filepath.Dir(l.sockets) != l.state {
		_ = os.Remove(l.sockets) // it stays if something else is in it
	}
}

func (l *layout) socket() string { return filepath.Join(l.sockets, socketName) }

// dsn names every part that the environment (PGPORT, PGUSER …) could otherwise change.
func (l *layout) dsn(db string) string {
	q := url.Values{"host": {l.sockets}, "port": {port}, "user": {superuser}, "sslmode": {"disable"}}
	return "postgres:///" + db + "?" + q.Encode()
}
