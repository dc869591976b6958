package qb_test

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// secretForms are what must never be committed: credentials of qb, keys, and tokens of well-known services.
var secretForms = map[string]*regexp.Regexp{
	"a token of qb":      regexp.MustCompile(`qb_(admin|operator|user|read-only|worker)_[0-9a-f]{16}_[A-Za-z0-9_-]{43}`),
	"a private key":      regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----`),
	"a cloud access key": regexp.MustCompile(`\b(AKIA|ASIA)[0-9A-Z]{16}\b`),
	"a forge's token":    regexp.MustCompile(`\b(ghp|gho|ghs|github_pat|glpat|npm)[_-][A-Za-z0-9_]{20,}`),
	"a chat's token":     regexp.MustCompile(`\bxox[abprs]-[A-Za-z0-9-]{10,}`),
	"a URL's password":   regexp.MustCompile(`\b(postgres|postgresql|https?)://[^\s:/@"'<>%$]+:[^\s:/@"'<>%$*…]{3,}@[A-Za-z0-9]`),
}

// plain are made up: passwords of tests and examples, ports where a password is, a secret of one letter.
var plain = regexp.MustCompile(`_A{43}|:[0-9]+@|:(secret|password|hunter2|wrong|PASSWORD|pw|s3cret|canary)[^@]*@`)

// secretsIn names what a text holds, with the line.
func secretsIn(text string) (found []string) {
	for n, line := range strings.Split(text, "\n") {
		for what, form := range secretForms {
			if at := form.FindString(line); at != "" && !plain.MatchString(at) {
				found = append(found, what+" in line "+strconv.Itoa(n+1))
			}
		}
	}
	return found
}

// TestSecrets: no credential is in the tree.
func TestSecrets(t *testing.T) {
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Logf("git ls-files: %v; no repository, so nothing is committed", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // removed, or a link
		}
		for _, what := range secretsIn(string(data)) {
			t.Errorf("%s: %s", name, what)
		}
	}
}

// TestSecretsBite shows each form a secret that it must find; they are put together here, so that this file holds none.
func TestSecretsBite(t *testing.T) {
	for _, parts := range [][]string{
		{"qb_admin_", "0123456789abcdef_", strings.Repeat("aB3-", 10) + "xyz"}, {"-----BEGIN ", "PRIVATE KEY-----"},
		{"-----BEGIN OPENSSH ", "PRIVATE KEY-----"}, {"AKIA", "ABCDEFGHIJKLMNOP"}, {"ghp_", strings.Repeat("x1", 18)},
		{"xoxb-", "123456789012-abc"}, {"postgres://qb:", "Tr0ub4dor@db.example/qb"},
	} {
		if canary := strings.Join(parts, ""); len(secretsIn("x = \""+canary+"\"")) != 1 {
			t.Errorf("%s… is not found", parts[0])
		}
	}
	if found := secretsIn("qb_ROLE_ID_SECRET postgres://USER@HOST/NAME http://127.0.0.1:50001"); found != nil {
		t.Errorf("plain text is taken for %v", found)
	}
}
