package farmkey

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	secretSize = 32
	keySize    = 32
	prefix     = "qb-farm-key-1 " // of the text in the file; the number allows another format one day
)

// Names of the derived keys. Changing one makes every signature, or every token, invalid.
const (
	infoTerm  = "qb term signature 1"
	infoToken = "qb token row 1"
	infoSeal  = "qb token seal 1"
	infoUser  = "qb user row 1"
	infoPage  = "qb page session 1"
)

// ErrFormat reports a file that holds no farm key.
var ErrFormat = errors.New("the file holds no farm key")

// Key is a farm's secret. The zero Key signs nothing; use New or Load.
type Key struct {
	secret [secretSize]byte
	sign   ed25519.PrivateKey
	token  []byte
	seal   []byte
	user   []byte
	page   []byte
}

// New makes a key from the system's randomness.
func New() Key {
	var secret [secretSize]byte
	_, _ = rand.Read(secret[:]) // never fails; the program ends if the system has no randomness
	return derive(secret)
}

func derive(secret [secretSize]byte) Key {
	k := Key{secret: secret}
	k.sign = ed25519.NewKeyFromSeed(expand(secret, infoTerm))
	k.token, k.seal = expand(secret, infoToken), expand(secret, infoSeal)
	k.user = expand(secret, infoUser)
	k.page = expand(secret, infoPage)
	return k
}

// expand panics only if the size were beyond what HKDF can give.
func expand(secret [secretSize]byte, info string) []byte {
	key, err := hkdf.Key(sha256.New, secret[:], nil, info, keySize)
	if err != nil {
		panic(err)
	}
	return key
}

// IsZero reports whether this is no key at all.
func (k Key) IsZero() bool { return k.sign == nil }

// Sign returns the Ed25519 signature of message. The same message always has the same signature, so that a
// supervisor can check a claim about a term that another one signed.
func (k Key) Sign(message []byte) []byte { return ed25519.Sign(k.sign, message) }

// Public is the key by which workers check signatures. It identifies the farm and is no secret.
func (k Key) Public() []byte { return k.sign.Public().(ed25519.PublicKey) }

// TokenMAC returns the HMAC-SHA256 that table token stores for a token of this id and secret text. The row alone makes
// no credential: without the key file an attacker cannot compute the value for a chosen secret. It covers the id, so
// that one row's value is of no use in another row. Compare with hmac.Equal.
func (k Key) TokenMAC(id, secret string) []byte {
	return mac(k.token, id+"\n"+secret) // an id is hexadecimal: the line break ends it
}

// TokenSeal returns the HMAC-SHA256 by which a row of table token shows that this farm wrote it. Compare with
// hmac.Equal.
func (k Key) TokenSeal(row string) []byte { return mac(k.seal, row) }

// UserSeal returns the HMAC-SHA256 by which a row of table person shows that this farm wrote it. Compare with
// hmac.Equal.
func (k Key) UserSeal(row string) []byte { return mac(k.user, row) }

// SessionKey returns the key by which the page signs the requests of a session. Supervisors of the farm make it again
// from the id, so that it is stored nowhere.
func (k Key) SessionKey(id string) []byte { return mac(k.page, id) }

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// Format prints a fixed text whatever the verb, so that no log or error can hold the secret.
func (k Key) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte("farm key")) }

func (k Key) text() string {
	return prefix + base64.StdEncoding.EncodeToString(k.secret[:]) + "\n"
}

func parse(text string) (Key, error) {
	coded, ok := strings.CutPrefix(strings.TrimRight(text, "\n"), prefix)
	bytes, err := base64.StdEncoding.Strict().DecodeString(coded)
	if !ok || err != nil || len(bytes) != secretSize {
		return Key{}, ErrFormat
	}
	return derive([secretSize]byte(bytes)), nil
}
