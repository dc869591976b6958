package netns

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	sitePassword  = "of-the-site" // of Postgres's superuser
	qbsPassword   = "of-qb"
	databaseRules = "hostssl all all 10.77.0.0/24 scram-sha-256\n"
)

// startDatabase starts the site's own Postgres on the machine db, with TLS and passwords, and makes qb's database. The
// supervisors' machines get what reaches it.
func (f *farm) startDatabase() {
	t := f.t
	data := f.db.Folder("var/lib/pg")
	must(t, os.Mkdir(data, 0o700))
	must(t, os.Chown(data, 65534, 65534))
	must(t, os.WriteFile(f.db.Folder("tmp/password"), []byte(sitePassword), 0o644))
	asNobody := []string{"--reuid=65534", "--regid=65534", "--clear-groups"}
	f.on(f.db, "setpriv", append(asNobody, postgresProgram(t, "initdb"), "-D", "/var/lib/pg", "-U", "site", "--no-sync",
		"--auth=scram-sha-256", "--pwfile=/tmp/password")...)
	certificate, key := selfSigned(t, "db")
	for name, text := range map[string][]byte{"server.crt": certificate, "server.key": key, "pg_hba.conf": []byte(databaseRules)} {
		must(t, os.WriteFile(filepath.Join(data, name), text, 0o600))
		must(t, os.Chown(filepath.Join(data, name), 65534, 65534))
	}
	f.start(f.db, "postgres", slices.Concat([]string{"setpriv"}, asNobody, []string{postgresProgram(t, "postgres"), "-D", "/var/lib/pg",
		"-c", "listen_addresses=*", "-c", "ssl=on", "-c", "unix_socket_directories=/tmp", "-c", "fsync=off"})...)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var site *pgx.Conn
	f.until("Postgres answers", func() bool {
		var err error
		site, err = pgx.Connect(ctx, f.databaseURL("site", sitePassword, "postgres"))
		if refused := (&pgconn.PgError{}); err != nil && !errors.As(err, &refused) && !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatal(err)
		}
		return err == nil
	})
	defer site.Close(ctx)
	for _, statement := range []string{"CREATE ROLE qb LOGIN PASSWORD '" + qbsPassword + "'", "CREATE DATABASE qb OWNER qb"} {
		_, err := site.Exec(ctx, statement)
		must(t, err)
	}
	for _, m := range []*Machine{f.s1, f.s2} {
		must(t, os.Mkdir(m.Folder("etc/qb"), 0o755))
		must(t, os.WriteFile(m.Folder("etc/qb/db.crt"), certificate, 0o644))
		must(t, os.WriteFile(m.Folder("etc/qb/db.pass"), []byte("db:5432:qb:qb:"+qbsPassword+"\n"), 0o600))
	}
}

func (f *farm) databaseURL(user, password, name string) string {
	return "postgres://" + user + ":" + password + "@" + f.db.Address + "/" + name + "?sslmode=require"
}

// postgresProgram is the path of one of the server's programs.
func postgresProgram(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	paths, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(paths) == 0 {
		t.Fatalf("Postgres's %s is missing; on Debian: apt install postgresql", name)
	}
	return slices.Max(paths)
}

// selfSigned is a certificate for a name, and its key, as PEM.
func selfSigned(t *testing.T, name string) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, private.Public(), private)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}
