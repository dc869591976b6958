package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"qb/api"
	"qb/cmd/qb/output"
)

// A completion must never disturb the line that is being typed: it takes at most completeWithin, prints no error, and
// offers nothing if no farm answers. Words of the farm come from its users, and bash inserts them as they are; those
// that a shell would read as more than one plain word are not offered.
//
//	shell ──script──▶ qb __complete WORD… ──▶ lines: WORD, a tab, what it is
//
// A line that begins with a tab asks the shell for words of its own: files, folders or commands.

// completeWithin is how long a completion may take.
const completeWithin = time.Second

// Limits of what is asked of the farm and offered.
const (
	mostJobs  = 200 // newest first
	mostItems = 500
)

// wordKind is what a word of a command line names.
type wordKind int

// The kinds. noWords and givenWords ask no farm; fileWords, folderWords and programWords are looked up by the shell.
const (
	noWords wordKind = iota
	givenWords
	jobWords
	itemWords // JOB or JOB:ITEM
	hostWords
	groupWords
	userWords
	clusterWords
	accountWords
	fileWords
	folderWords
	programWords
)

// wordPosition is a place in a command line that takes a word.
type wordPosition struct {
	Kind   wordKind
	Words  []string // offered in any case
	States []string // of jobs; none: all
	List   bool     // several, separated by commas
}

// completion is what may stand in a place.
type completion struct {
	Text, About string
}

// completingFarm answers calls that change nothing.
type completingFarm interface {
	Ask(ctx context.Context, e api.Endpoint, params api.Params, out any) error
}

// completions are the words that may stand in a place and begin as given. Whatever fails, or is not
// done when ctx ends, offers nothing.
func completions(ctx context.Context, farm completingFarm, place wordPosition, begun string) []completion {
	before := ""
	if place.List {
		if n := strings.LastIndexByte(begun, ','); n >= 0 {
			before, begun = begun[:n+1], begun[n+1:]
		}
	}
	var words []completion
	for _, word := range place.Words {
		words = append(words, completion{Text: word})
	}
	words = append(words, wordsInTime(ctx, farm, place, begun)...)
	words = slices.DeleteFunc(words, func(w completion) bool {
		return !strings.HasPrefix(w.Text, begun) ||
			!isPlainWord(w.Text)
	})
	for n := range words {
		words[n].Text = before + words[n].Text
	}
	return words
}

// wordsInTime leaves a call that does not end in time to itself.
func wordsInTime(ctx context.Context, farm completingFarm, place wordPosition, begun string) []completion {
	switch place.Kind {
	case noWords, givenWords, fileWords, folderWords, programWords:
		return nil
	}
	found := make(chan []completion, 1)
	go func() { found <- wordsOfFarm(ctx, farm, place, begun) }()
	select {
	case words := <-found:
		return words
	case <-ctx.Done():
		return nil
	}
}

func wordsOfFarm(ctx context.Context, farm completingFarm, place wordPosition, begun string) (words []completion) {
	look := func(e api.Endpoint, params api.Params, out any) bool { return farm.Ask(ctx, e, params, out) == nil }
	switch place.Kind {
	case itemWords:
		if job, _, ok := strings.Cut(begun, ":"); ok {
			return itemsToName(look, job)
		}
		fallthrough
	case jobWords:
		for _, j := range jobsToName(look, place.States) {
			words = append(words, completion{strconv.FormatInt(j.ID, 10), fmt.Sprintf("%s of %s, %s", j.Name, j.User, j.Status)})
		}
		return words
	case hostWords:
		for _, h := range hostsToName(look) {
			words = append(words, completion{h.Name, fmt.Sprintf("%s, %d of %d slots in use", h.State, h.Slots.Used,
				h.Slots.Total)})
		}
		return words
	case groupWords:
		for _, h := range hostsToName(look) {
			words = addWords(words, h.Groups...)
		}
	case clusterWords:
		for _, h := range hostsToName(look) {
			words = addWords(words, h.Cluster)
		}
		for _, j := range jobsToName(look, nil) {
			words = addWords(words, j.Cluster)
		}
	case userWords, accountWords:
		var shares []api.Share
		look(api.ListShares, nil, &shares)
		for _, s := range shares {
			if place.Kind == userWords {
				words = addWords(words, s.User)
			} else {
				words = addWords(words, s.Account)
			}
		}
		if place.Kind == userWords {
			for _, j := range jobsToName(look, nil) {
				words = addWords(words, j.User)
			}
		}
	}
	slices.SortFunc(words, func(a, b completion) int { return cmp.Compare(a.Text, b.Text) })
	return words
}

// addWords appends the words that are new and not empty.
func addWords(words []completion, texts ...string) []completion {
	for _, text := range texts {
		if text != "" && !slices.Contains(words, completion{Text: text}) {
			words = append(words, completion{Text: text})
		}
	}
	return words
}

type lookFunc func(e api.Endpoint, params api.Params, out any) bool

func jobsToName(look lookFunc, states []string) (found []api.Job) {
	look(api.ListJobs, api.Params{"limit": strconv.Itoa(mostJobs), "status": strings.Join(states, ",")}, &found)
	return found
}

func hostsToName(look lookFunc) (found []api.Host) {
	look(api.ListHosts, nil, &found)
	return found
}

func itemsToName(look lookFunc, job string) (words []completion) {
	if _, err := strconv.ParseUint(job, 10, 63); err != nil {
		return nil
	}
	var found []api.Item
	look(api.ListItems, api.Params{"job": job, "limit": strconv.Itoa(mostItems)}, &found)
	for _, i := range found {
		words = append(words, completion{job + ":" + i.Name, i.Status})
	}
	return words
}

// isPlainWord says whether every shell reads a text as one word that means itself.
func isPlainWord(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_=+./:,@%", r)
	})
}

// printCompletions writes what a script reads: the words, or the request for words of the shell's own.
func printCompletions(out io.Writer, place wordPosition, words []completion) error {
	var b strings.Builder
	for _, w := range words {
		fmt.Fprintf(&b, "%s\t%s\n", w.Text, output.Escape(w.About))
	}
	if own := map[wordKind]string{fileWords: "files", folderWords: "folders",
		programWords: "commands"}[place.Kind]; own != "" {
		b.WriteString("\t" + own + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}
