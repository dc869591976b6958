package api

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/subtle"
	"strconv"
)

// MaxLineage bounds the name of a lineage, MaxSuperseded the list of the ones that a worker obeys no more.
const (
	MaxLineage    = 64
	MaxSuperseded = 64
)

// Term says which supervisor speaks: a term of a farm, in a database. The signature is made with the farm's key, which
// is in no database, so that neither a process that took the supervisor's port nor a copy of the database can make a
// term that workers obey.
type Term struct {
	_ struct{} `additionalProperties:"true"`

	Farm      []byte `json:"farm" doc:"The farm's public key, Ed25519. A worker keeps the first that it accepts and obeys no other."`
	Lineage   string `json:"lineage" doc:"Of the database. A copy of a database gets a lineage of its own; a worker obeys one."`
	Epoch     int64  `json:"epoch"`
	Began     int64  `json:"began" doc:"When the term began, in microseconds since 1970 by the database's clock. A restored database may give the same number to another term."`
	Signature []byte `json:"signature" doc:"Over lineage, epoch and begin."`

	Timeline          int64  `json:"timeline,omitempty" doc:"Of the database's server: it rises with each promotion of a replica. 0: not known."`
	TimelineSignature []byte `json:"timeline_signature,omitempty" doc:"Over the timeline and the signature."`
}

// TimelineMessage is what the second signature of a term covers.
func TimelineMessage(timeline int64, signature []byte) []byte {
	return append([]byte("qb timeline 1\n"+strconv.FormatInt(timeline, 10)+"\n"), signature...)
}

// TermMessage is what the signature of a term covers.
func TermMessage(lineage string, epoch, began int64) []byte {
	return []byte("qb term 1\n" + lineage + "\n" + strconv.FormatInt(epoch, 10) + "\n" + strconv.FormatInt(began, 10))
}

// Signed reports whether the signature was made with the key of which Farm is the public part.
func (t Term) Signed() bool {
	return len(t.Farm) == ed25519.PublicKeySize && ed25519.Verify(t.Farm, TermMessage(t.Lineage, t.Epoch, t.Began),
		t.Signature) &&
		(t.Timeline == 0 || ed25519.Verify(t.Farm, TimelineMessage(t.Timeline, t.Signature), t.TimelineSignature))
}

// Same reports whether both are one signed term.
func (t Term) Same(o Term) bool {
	return t.Epoch == o.Epoch && t.Began == o.Began && t.Lineage == o.Lineage && bytes.Equal(t.Farm, o.Farm) &&
		bytes.Equal(t.Signature, o.Signature) &&
		t.Timeline == o.Timeline && bytes.Equal(t.TimelineSignature, o.TimelineSignature)
}

// Proof shows that its holder was given the term, without giving the signature away: anyone who reads a worker's
// sync cannot use it to play the supervisor.
func (t Term) Proof() []byte {
	sum := sha256.Sum256(t.Signature)
	return sum[:]
}

// TimelineProof shows the same of the term's timeline; nil if that is not known.
func (t Term) TimelineProof() []byte {
	if t.Timeline == 0 {
		return nil
	}
	sum := sha256.Sum256(t.TimelineSignature)
	return sum[:]
}

// AcceptedTerm is the highest signed term that a worker has accepted an answer of.
type AcceptedTerm struct {
	_ struct{} `additionalProperties:"true"`

	Lineage       string   `json:"lineage"`
	Epoch         int64    `json:"epoch"`
	Began         int64    `json:"began"`
	Proof         []byte   `json:"proof" doc:"SHA-256 of the term's signature."`
	SilentSeconds float64  `json:"silent_seconds" doc:"Since the last answer of that lineage."`
	Superseded    []string `json:"superseded,omitempty" doc:"Lineages that this worker obeyed before."`
	Timeline      int64    `json:"timeline,omitempty" doc:"Of the term; 0: not known."`
	TimelineProof []byte   `json:"timeline_proof,omitempty" doc:"SHA-256 of the signature over the timeline."`
}

// Proves reports whether the holder was given exactly this term.
func (h AcceptedTerm) Proves(t Term) bool {
	return h.Lineage == t.Lineage && h.Epoch == t.Epoch && h.Began == t.Began &&
		subtle.ConstantTimeCompare(h.Proof, t.Proof()) == 1 &&
		(h.Timeline == 0 || h.Timeline == t.Timeline && subtle.ConstantTimeCompare(h.TimelineProof, t.TimelineProof()) == 1)
}
