package postgres

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestOpenOfADatabaseThatIsNotThere: a fault that may pass is retried; a fault that an admin must repair is returned at
// once, with the remedy.
func TestOpenOfADatabaseThatIsNotThere(t *testing.T) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	go func() {
		for {
			c, err := deaf.Accept()
			if err != nil {
				return
			}
			c.Close() // as a server does that is being stopped
		}
	}()
	for name, tc := range map[string]struct {
		url    string
		passes bool
		says   string
	}{
		"nobody listens":     {"postgres://qb@" + free.Addr().String() + "/qb", true, "database_url"},
		"no socket yet":      {"postgres:///qb?host=" + t.TempDir() + "&user=qb", true, "database_url"},
		"it hangs up":        {"postgres://qb@" + deaf.Addr().String() + "/qb?sslmode=disable", true, "database_url"},
		"another database":   {strings.Replace(template, "/qb?", "/none?", 1), false, "createdb none"},
		"another user":       {strings.Replace(template, "user=qb", "user=nobody_here", 1), false, "QB_DATABASE_URL"},
		"a URL that is none": {"postgres://qb@host:port/qb", false, "database_url cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(ctx, tc.url, Options{})
			if err == nil || Outage(err) != tc.passes || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("outage %v: %v", Outage(err), err)
			}
		})
	}
	for code, passes := range map[string]bool{"57P03": true, "53300": true, "08006": true, "28P01": false, "42501": false,
		"53100": false} {
		if err := fmt.Errorf("opening: %w", &pgconn.PgError{Code: code}); Outage(err) != passes {
			t.Errorf("SQLSTATE %s: outage %v", code, !passes)
		}
	}
	if Outage(&net.DNSError{IsNotFound: true}) || !Outage(&net.DNSError{IsTemporary: true}) {
		t.Error("an unknown host's name passes, or a resolver's trouble does not")
	}
	cfg, err := parse(strings.Replace(template, "/qb?", "/none?", 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := connecting(cfg, &net.DNSError{Name: "databse", IsNotFound: true}); !strings.Contains(err.Error(),
		`"databse"`) {
		t.Error(err)
	}
	peer := &pgconn.PgError{Code: "28000", Message: `Peer authentication failed for user "qb"`}
	if err := connecting(cfg, peer); Outage(peer) || !strings.Contains(err.Error(), "sudo -u qb ") {
		t.Error(err)
	}
	if cfg.ConnectTimeout > 10*time.Second {
		t.Errorf("one try takes up to %v", cfg.ConnectTimeout)
	}
}
