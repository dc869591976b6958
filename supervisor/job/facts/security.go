package facts

import (
	"errors"
	"strings"
)

// Lets are what others may do with a job.
type Lets uint8

// Each by its letter in the attribute security: v, m and k.
const (
	LetView   Lets = 1 << iota // read the output of its items
	LetModify                  // change it, and give it any order but kill
	LetKill
)

const letLetters = "vmk"

// Has says whether all of the others are in it.
func (l Lets) Has(others Lets) bool { return l&others == others }

// Security is what the owner of a job lets others do with it.
type Security struct {
	Given  bool // else the farm's settings decide
	Group  Lets // users who share a group with the owner
	Others Lets
}

// For is what a user may do, who shares a group with the owner or does not.
func (s Security) For(inGroup bool) Lets {
	if inGroup {
		return s.Group
	}
	return s.Others
}

var errSecurity = errors.New("write group=LETTERS,others=LETTERS with the letters v (read the output), m (change, retry and so on) and k (kill), such as group=vmk,others=v; what is left out may nothing")

// ReadSecurity reads the attribute security of a job.
func ReadSecurity(text string) (s Security, err error) {
	s.Given = text != ""
	given := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		if text == "" {
			break
		}
		who, letters, found := strings.Cut(strings.TrimSpace(part), "=")
		to := map[string]*Lets{"group": &s.Group, "others": &s.Others}[who]
		if !found || to == nil || given[who] {
			return Security{Given: true}, errSecurity
		}
		given[who] = true
		for _, letter := range letters {
			n := strings.IndexRune(letLetters, letter)
			if n < 0 {
				return Security{Given: true}, errSecurity
			}
			*to |= 1 << n
		}
	}
	return s, nil
}

func checkSecurity(text string) error {
	_, err := ReadSecurity(text)
	return err
}
