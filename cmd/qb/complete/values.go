package complete

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

// Within is how long a completion may take.
const Within = time.Second

// Limits of what is asked of the farm and offered.
const (
	mostJobs  = 200 // newest first
	mostItems = 500
)

// Kind is what a word of a command line names.
type Kind int

// The kinds. Nothing and Words ask no farm; Files, Folders and Commands are looked up by the shell.
const (
	Nothing Kind = iota
	Words
	Jobs
	Items // JOB or JOB:ITEM
	Hosts
	Groups
	Users
	Clusters
	Accounts
	Files
	Folders
	Commands
)

// Place is a place in a command line that takes a word.
type Place struct {
	Kind   Kind
	Words  []string // offered in any case
	States []string // of jobs; none: all
	List   bool     // several, separated by commas
}

// Word is what may stand in a place.
type Word struct {
	Text, About string
}

// Farm answers calls that change nothing.
type Farm interface {
	Ask(ctx context.Context, e api.Endpoint, params api.Params, out any) error
}

// Values are the words that may stand in a place and begin as given. Whatever fails, or is not
// done when ctx ends, offers nothing.
func Values(ctx context.Context, farm Farm, place Place, begun string) []Word {
	before := ""
	if place.List {
		if n := strings.LastIndexByte(begun, ','); n >= 0 {
			before, begun = begun[:n+1], begun[n+1:]
		}
	}
	var words []Word
	for _, word := range place.Words {
		words = append(words, Word{Text: word})
	}
	words = append(words, ask(ctx, farm, place, begun)...)
	words = slices.DeleteFunc(words, func(w Word) bool { return !strings.HasPrefix(w.Text, begun) || !plain(w.Text) })
	for n := range words {
		words[n].Text = before + words[n].Text
	}
	return words
}

// ask leaves a call that does not end in time to itself.
func ask(ctx context.Context, farm Farm, place Place, begun string) []Word {
	switch place.Kind {
	case Nothing, Words, Files, Folders, Commands:
		return nil
	}
	found := make(chan []Word, 1)
	go func() { found <- fromFarm(ctx, farm, place, begun) }()
	select {
	case words := <-found:
		return words
	case <-ctx.Done():
		return nil
	}
}

func fromFarm(ctx context.Context, farm Farm, place Place, begun string) (words []Word) {
	look := func(e api.Endpoint, params api.Params, out any) bool { return farm.Ask(ctx, e, params, out) == nil }
	switch place.Kind {
	case Items:
		if job, _, ok := strings.Cut(begun, ":"); ok {
			return items(look, job)
		}
		fallthrough
	case Jobs:
		for _, j := range jobs(look, place.States) {
			words = append(words, Word{strconv.FormatInt(j.ID, 10), fmt.Sprintf("%s of %s, %s", j.Name, j.User, j.Status)})
		}
		return words
	case Hosts:
		for _, h := range hosts(look) {
			words = append(words, Word{h.Name, fmt.Sprintf("%s, %d of %d slots in use", h.State, h.Slots.Used, h.Slots.Total)})
		}
		return words
	case Groups:
		for _, h := range hosts(look) {
			words = add(words, h.Groups...)
		}
	case Clusters:
		for _, h := range hosts(look) {
			words = add(words, h.Cluster)
		}
		for _, j := range jobs(look, nil) {
			words = add(words, j.Cluster)
		}
	case Users, Accounts:
		var shares []api.Share
		look(api.ListShares, nil, &shares)
		for _, s := range shares {
			if place.Kind == Users {
				words = add(words, s.User)
			} else {
				words = add(words, s.Account)
			}
		}
		if place.Kind == Users {
			for _, j := range jobs(look, nil) {
				words = add(words, j.User)
			}
		}
	}
	slices.SortFunc(words, func(a, b Word) int { return cmp.Compare(a.Text, b.Text) })
	return words
}

// add appends those that are new and not empty.
func add(words []Word, texts ...string) []Word {
	for _, text := range texts {
		if text != "" && !slices.Contains(words, Word{Text: text}) {
			words = append(words, Word{Text: text})
		}
	}
	return words
}

type lookFunc func(e api.Endpoint, params api.Params, out any) bool

func jobs(look lookFunc, states []string) (found []api.Job) {
	look(api.ListJobs, api.Params{"limit": strconv.Itoa(mostJobs), "status": strings.Join(states, ",")}, &found)
	return found
}

func hosts(look lookFunc) (found []api.Host) {
	look(api.ListHosts, nil, &found)
	return found
}

func items(look lookFunc, job string) (words []Word) {
	if _, err := strconv.ParseUint(job, 10, 63); err != nil {
		return nil
	}
	var found []api.Item
	look(api.ListItems, api.Params{"job": job, "limit": strconv.Itoa(mostItems)}, &found)
	for _, i := range found {
		words = append(words, Word{job + ":" + i.Name, i.Status})
	}
	return words
}

// plain says whether every shell reads a text as one word that means itself.
func plain(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_=+./:,@%", r)
	})
}

// Print writes what a script reads: the words, or the request for words of the shell's own.
func Print(out io.Writer, place Place, words []Word) error {
	var b strings.Builder
	for _, w := range words {
		fmt.Fprintf(&b, "%s\t%s\n", w.Text, output.Escape(w.About))
	}
	if own := map[Kind]string{Files: "files", Folders: "folders", Commands: "commands"}[place.Kind]; own != "" {
		b.WriteString("\t" + own + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}
