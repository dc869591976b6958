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
	"slices"
	"time"

	"qb/api"
	"qb/internal/statedir"
	"qb/worker/shim"
)

// A worker's state folder holds a key pair, which is who the host is, and a token that is bound to it. The token of
// worker_token_file is good for enrolling; what is bound to the key is used from then on.

// ownToken is the token that is bound to the folder's key.
type ownToken struct {
	Token   string    `json:"token"`
	RenewAt time.Time `json:"renew_at"`

	// Of a worker that joined: where its supervisors are, and the fingerprints of the farm's CAs.
	Supervisor []string `json:"supervisor,omitempty"`
	Pins       []string `json:"pins,omitempty"`
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
		return nil, fmt.Errorf("the worker's key %s is no PEM block %s; remove the file, and the worker makes a new key and enrols again", path, keyPEMBlock)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("reading the worker's key %s: %w", path, err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the worker's key %s is a %T and must be Ed25519; remove the file, and the worker makes a new key", path, key)
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
	if err := statedir.ReplaceWith(path, 0o600, pem.EncodeToMemory(&pem.Block{Type: keyPEMBlock,
		Bytes: der})); err != nil {
		return nil, fmt.Errorf("writing the worker's key: %w", err)
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
	reply, err := f.a.state.enrolWith(ctx, f.syncs[at], f.private, f.a.config.Name)
	if err != nil {
		f.deferEnrolment(now, err)
		return
	}
	f.own.Token, f.own.RenewAt = reply.Token, now.Add(time.Until(reply.ExpiresAt)/2)
	if err := shim.ReplaceSealed(filepath.Join(f.a.state.root, "token"), f.own, true); err != nil {
		f.a.log.Error("the worker's own token cannot be saved; the worker requests another at the next start", "error", err)
	}
	f.use(f.own.Token)
	f.a.log.Info("enrolled: this worker has a token of its own", "host", f.a.config.Name, "until",
		reply.ExpiresAt.Format(time.DateOnly))
}

// enrolWith asks for a token that is bound to the key; the request is signed with it.
func (s *stateFolder) enrolWith(ctx context.Context, c *api.Client, private ed25519.PrivateKey,
	name string) (reply api.EnrolReply, err error) {
	e := api.Enrolment{Host: name, MachineID: machineID(name), StateID: s.id,
		PublicKey: private.Public().(ed25519.PublicKey), Time: time.Now().Unix(),
		Version: api.Version(), Protocol: api.Protocol}
	e.Signature = ed25519.Sign(private, e.Signed())
	err = c.Call(ctx, api.Enrol, nil, e, &reply)
	return reply, err
}

func (f *supervisorConn) deferEnrolment(now time.Time, err error) {
	switch api.Refusal(err).Kind {
	case "", api.KindUnavailable: // as the sync will find, too
	case api.KindUnauthorized:
		f.enrolAt = now.Add(enrolAgain)
	case api.KindNotFound: // an older supervisor
		f.enrolAt = now.Add(enrolLater)
	default:
		f.enrolAt = now.Add(enrolLater)
		f.a.log.Warn("the worker cannot enrol and continues with its present token", "error", err)
	}
}

// keepPins saves the fingerprints of the farm's CAs if a supervisor has shown others on the way to a known one.
func (f *supervisorConn) keepPins() {
	f.enrolling.Lock()
	defer f.enrolling.Unlock()
	if f.pins == nil || f.own.Token == "" || slices.Equal(f.pins.Pins(), f.own.Pins) {
		return
	}
	f.own.Pins = f.pins.Pins()
	if err := shim.ReplaceSealed(filepath.Join(f.a.state.root, "token"), f.own, true); err != nil {
		f.a.log.Error("the farm's new CA cannot be saved", "error", err)
		return
	}
	f.a.log.Info("the farm's CA has changed", "fingerprints", f.own.Pins)
}

// use takes a token for all calls that follow.
func (f *supervisorConn) use(token string) {
	for n := range f.syncs {
		f.syncs[n].UseToken(token)
		f.logs[n].UseToken(token)
	}
}
