package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"qb/api"
	"qb/cmd/qb/output"
	"qb/internal/units"
)

// How long a change is repeated under its key by default: a script waits until the outcome is known, a person at a
// terminal gets a message that says how to repeat it.
const (
	scriptRetryFor = 2 * time.Minute
	mostRetryFor   = 24 * time.Hour // keys are known for a day
	maxKey         = 100            // of the 128 that a request may carry; the rest names the job
)

// submitKey is the environment variable that means qbsub -key.
const submitKey = "QB_SUBMIT_KEY"

// bindRepeat gives a command that changes something the options of its repetition.
func bindRepeat(cmd *cobra.Command) {
	cmd.Flags().String("key", "", "`NAME` of this change; within a day, the same change under the same name happens only once")
	cmd.Flags().Var(new(units.Span), "retryfor", "repeat the change for `DURATION` while the supervisor does not answer (default, while the outcome is unknown: 4.5s on a terminal, else 2m)")
}

// repetition is how the changes of one command are repeated.
type repetition struct {
	key     string        // of the command; each of its changes has one of its own below it
	limit   time.Duration // since a change's begin
	insist  bool          // also while it is certain that nothing was done
	changed bool          // one of the command's changes was acknowledged
}

// repetitionOf reads the options; commands that change nothing have none.
func repetitionOf(cmd *cobra.Command) (repetition, error) {
	r := repetition{key: rand.Text(), limit: answerWithin}
	if cmd.Flags().Lookup("key") == nil {
		return r, nil
	}
	if !output.IsTerminal(cmd.OutOrStdout()) {
		r.limit = scriptRetryFor
	}
	if cmd.Flags().Changed("retryfor") {
		r.limit = cmd.Flags().Lookup("retryfor").Value.(*units.Span).Std()
		r.insist = true
		if r.limit > mostRetryFor {
			return r, api.Errorf(api.KindUsage, "-retryfor %s: use 0s to %s, for keys are known for a day", units.Span(r.limit),
				units.Span(mostRetryFor))
		}
	}
	named, from := "", "-key"
	if cmd.Flags().Changed("key") {
		named, _ = cmd.Flags().GetString("key")
	} else if env := os.Getenv(submitKey); cmd.Name() == "sub" && env != "" {
		named, from = env, submitKey
	} else {
		return r, nil
	}
	if named == "" || len(named) > maxKey || !printableASCII(named) {
		return r, api.Errorf(api.KindUsage, "%s %q: use 1 to %d letters, digits and signs without blanks", from, named,
			maxKey)
	}
	r.key = named
	return r, nil
}

func printableASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// keyOf is the key of one change of the command: that to the job or host that the word names.
func (r *repetition) keyOf(word string) string {
	key := r.key
	if word != "" {
		key += "/" + word
	}
	if len(key) <= 128 && printableASCII(key) {
		return key
	}
	sum := sha256.Sum256([]byte(word))
	return r.key + "/" + hex.EncodeToString(sum[:12])
}

// typed is the command line as the user gave it.
type typed struct {
	argv []string
	at   int // behind the words that name the command
}

type typedKey struct{}

// withTyped notes the command line for a message that says how to repeat it. Args are argv's words, or the ones that a
// link is named for and argv's; at is a place in them.
func withTyped(ctx context.Context, argv, args []string, at int) context.Context {
	return context.WithValue(ctx, typedKey{}, typed{argv: argv, at: at + len(argv) - len(args)})
}

// afterDashes says whether -- was typed before these words, the last of the command line.
func afterDashes(cmd *cobra.Command, words []string) bool {
	t, ok := cmd.Context().Value(typedKey{}).(typed)
	before := len(t.argv) - len(words) - 1
	return ok && before >= 0 && t.argv[before] == "--"
}

// advice says how to repeat the command so that what was done already is not done again.
func (c *client) advice() string {
	t, ok := c.cmd.Context().Value(typedKey{}).(typed)
	if !ok {
		return ""
	}
	words := t.argv
	if !c.cmd.Flags().Changed("key") {
		words = append(append(append([]string{}, words[:t.at]...), "-key", c.repeat.key), words[t.at:]...)
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = output.ShellQuote(word)
	}
	return fmt.Sprintf("to repeat it, use its key within a day; it then happens once, whatever became of this call:\n  %s",
		strings.Join(quoted, " "))
}
