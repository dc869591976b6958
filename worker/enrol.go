package worker

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"qb/api"
	"qb/worker/shim"
)

// A worker's state folder holds a key pair, which is who the host is, and a token that is bound to it. The token of
// worker_token_file is good for enrolling; what is bound to the key is used from then on.

// ownToken is the token that is bound to the folder's key.
type ownToken struct {
	Token   string    `json:"token"`
	RenewAt time.Time `json:"renew_at"`
}

// Waits between tries to enrol.
const (
	enrolAgain  = time.Minute      // after a refusal of the token
	enrolLater  = 10 * time.Minute // after any other; the worker goes on with the token that it has
	enrolFor    = 10 * time.Second
	keyPEMBlock = "PRIVATE KEY" // PKCS #8
)

// key reads the folder's private key, or makes it.
func (s *stateFolder) key() (ed25519.PrivateKey, error) {
	path := filepath.Join(s.root, "key")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the worker's key: %w", err)
	}
	block, _ := pem.Decode(data)
	if block == nil || block.Type != keyPEMBlock {
		return nil, fmt.Errorf("the worker's key %s is no PEM block %s; remove it, and the worker makes another and enrols again", path, keyPEMBlock)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading the worker's key %s: %w", path, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the worker's key %s is a %T; it must be Ed25519", path, key)
	}
	return private, nil
}

func makeKey(path string) (ed25519.PrivateKey, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, fmt.Errorf("making the worker's key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("making the worker's key: %w", err)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".key-*") // 0600
	if err != nil {
		return nil, fmt.Errorf("writing the worker's key: %w", err)
	}
	err = pem.Encode(file, &pem.Block{Type: keyPEMBlock, Bytes: der})
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err == nil {
		err = shim.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		return nil, fmt.Errorf("writing the worker's key: %w", errors.Join(err, os.RemoveAll(file.Name())))
	}
	return private, nil
}

// token is the folder's own; its Token is empty before the worker has enrolled.
func (s *stateFolder) token() (own ownToken) {
	if shim.ReadSealed(filepath.Join(s.root, "token"), &own) != nil {
		return ownToken{}
	}
	return own
}

// enrol gets a token of the worker's own, if it has none or its half-life is over. A failure is no obstacle: the
// supervisor decides whether the token in use still counts.
func (f *supervisorConn) enrol(ctx context.Context, at uint32) {
	f.enrolling.Lock()
	defer f.enrolling.Unlock()
	now := time.Now()
	if f.private == nil || now.Before(f.enrolAt) || (f.own.Token != "" && now.Before(f.own.RenewAt)) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, enrolFor)
	defer cancel()
	e := api.Enrolment{Host: f.a.config.Name, MachineID: machineID(f.a.config.Name), StateID: f.a.state.id,
		PublicKey: f.private.Public().(ed25519.PublicKey), Time: now.Unix()}
	e.Signature = ed25519.Sign(f.private, e.Signed())
	var reply api.EnrolReply
	if err := f.syncs[at].Call(ctx, api.Enrol, nil, e, &reply); err != nil {
		f.deferEnrolment(now, err)
		return
	}
	f.own = ownToken{Token: reply.Token, RenewAt: now.Add(time.Until(reply.ExpiresAt) / 2)}
	if err := shim.ReplaceSealed(filepath.Join(f.a.state.root, "token"), f.own, true); err != nil {
		f.a.log.Error("the worker's own token cannot be saved; it is asked for again at the next start", "error", err)
	}
	f.use(f.own.Token)
	f.a.log.Info("enrolled: this worker has a token of its own", "host", f.a.config.Name, "until", reply.ExpiresAt.Format(time.DateOnly))
}

func (f *supervisorConn) deferEnrolment(now time.Time, err error) {
	var refusal *api.Error
	switch {
	case !errors.As(err, &refusal) || refusal.Kind == api.KindUnavailable:
		return // as the sync will find, too
	case refusal.Kind == api.KindUnauthorized:
		f.enrolAt = now.Add(enrolAgain)
	default:
		f.enrolAt = now.Add(enrolLater)
		if refusal.Kind != api.KindNotFound { // an older supervisor
			f.a.log.Warn("this worker cannot enrol; it goes on with the token that it has", "error", err)
		}
	}
}

// use takes a token for all calls that follow.
func (f *supervisorConn) use(token string) {
	for n := range f.syncs {
		f.syncs[n].UseToken(token)
		f.logs[n].UseToken(token)
	}
}
