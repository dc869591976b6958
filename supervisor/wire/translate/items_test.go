package translate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qb/agenda"
	"qb/api"
)

// renderer is a command, and the numbers that it would make of those of an item.
type renderer struct {
	command string
	env     string
	makes   func(start, end, step int, all []int) []int
}

func sequence(start, end, step int) (numbers []int) {
	for n := start; n <= end; n += step {
		numbers = append(numbers, n)
	}
	return numbers
}

var renderers = []renderer{
	{"r -f QB_FRAME_NUMBER", "", func(start, _, _ int, _ []int) []int { return []int{start} }},
	{"r -f $QB_PADDED_FRAME_NUMBER", "", func(start, _, _ int, _ []int) []int { return []int{start} }},
	{"r -s QB_FRAME_START", "", func(start, _, _ int, _ []int) []int { return []int{start} }},
	{"r -e ${QB_FRAME_END}", "", func(_, end, _ int, _ []int) []int { return []int{end} }},
	{"r -s QB_FRAME_START -e QB_FRAME_END", "", func(start, end, _ int, _ []int) []int { return sequence(start, end, 1) }},
	{"r -s QB_FRAME_START -e QB_FRAME_END -j QB_FRAME_STEP", "", func(start, end, step int, _ []int) []int {
		return sequence(start, end, step)
	}},
	{"r -s QB_PADDED_FRAME_START -e QB_PADDED_FRAME_END -j $QB_FRAME_STEP -l QB_FRAME_NUMBER.log", "",
		func(start, end, step int, _ []int) []int {
			return sequence(start, end, step)
		}},
	{"eval r $FRAMES", "-s $QB_FRAME_START -e $QB_FRAME_END -j $QB_FRAME_STEP", func(start, end, step int, _ []int) []int {
		return sequence(start, end, step)
	}},
	{"r -s QB_FRAME_START -e QB_FRAME_END $STEP", "-j QB_FRAME_STEP", func(start, end, step int, _ []int) []int {
		return sequence(start, end, step)
	}},
	{"eval r $FRAMES", "-f $QB_FRAME_NUMBER", func(start, _, _ int, _ []int) []int { return []int{start} }},
	{"r -F QB_FRAME_RANGE -l QB_FRAME_NUMBER.log", "", func(_, _, _ int, all []int) []int { return all }},
	{"r -F QB_FRAME_RANGE -l QB_FRAME_START-QB_FRAME_END.log", "", func(_, _, _ int, all []int) []int { return all }},
	{"r all of them", "", func(_, _, _ int, all []int) []int { return all }},
}

// TestRenderersAgainstSets: for every range, chunk and command, the numbers that a renderer makes of each item are the
// item's numbers, or the submission gets a remark. A submission without differences gets none.
func TestRenderersAgainstSets(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 5))
	divided, told := 0, 0
	for range 6000 {
		var words []string
		for range 1 + r.IntN(5) {
			from := r.IntN(60) - 5
			words = append(words, []string{strconv.Itoa(from), fmt.Sprintf("%d-%d", from, from+r.IntN(30)-10),
				fmt.Sprintf("%d-%dx%d", from, from+r.IntN(40)-15, 1+r.IntN(5))}[r.IntN(3)])
		}
		with := renderers[r.IntN(len(renderers))]
		req := &api.SubmitRequest{Command: []string{with.command}, Shell: true, Range: strings.Join(words, ","),
			Chunk: 1 + r.IntN(9)}
		if with.env != "" {
			req.Env = map[string]string{"FRAMES": with.env, "STEP": with.env}
			if r.IntN(2) == 0 {
				req.Command[0] = "true; " + req.Command[0]
			}
		}
		if r.IntN(3) == 0 {
			req.Chunk, req.Partitions = 0, 1+r.IntN(4)
		}
		row, err := Submission(req, "ann", "")
		if err != nil {
			t.Fatal(err)
		}
		a, err := agenda.Parse(row.Agenda, 0)
		if err != nil {
			t.Fatal(err)
		}
		wrong := ""
		for n := range a.Len() {
			item := a.Item(n)
			all := numbersOf(t, item.Name)
			ends := numbersOf(t, item.Start+","+item.End+","+item.Step)
			if item.Start == item.End {
				ends = []int{ends[0], ends[0], 1}
			}
			step, _ := strconv.Atoi(item.Step)
			made := with.makes(ends[0], ends[1], step, all)
			slices.Sort(all)
			if slices.Sort(made); !slices.Equal(made, all) {
				wrong = fmt.Sprintf("item %s makes %v", item.Name, made)
			}
		}
		remarks := row.ItemRemarks(a)
		if (wrong != "") != (len(remarks) > 0) {
			t.Fatalf("%q of %s in chunks of %d or %d parts: remarks %q, but %q", req.Command[0], req.Range, req.Chunk,
				req.Partitions, remarks, wrong)
		}
		if wrong != "" {
			told++
		}
		if plain := row.Agenda; plain.Named {
			plain.Named = false
			if whole, _ := agenda.Parse(plain, 0); whole.Len() < a.Len() {
				divided++
			}
		}
	}
	if divided < 100 || told < 100 {
		t.Errorf("%d were divided, %d told of", divided, told)
	}
}

// numbersOf is the numbers of a list, in its order.
func numbersOf(t *testing.T, text string) (numbers []int) {
	t.Helper()
	a, err := agenda.Parse(agenda.Spec{Range: text}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := range a.Len() {
		number, _ := strconv.Atoi(a.Item(n).Name)
		numbers = append(numbers, number)
	}
	return numbers
}

// TestOctalIsTold: a padded number within a calculation of the shell gets a remark, if one has leading zeros.
func TestOctalIsTold(t *testing.T) {
	for _, c := range []struct {
		text, command string
		padding       int
		told          bool
	}{
		{"8,10", "echo $((QB_FRAME_NUMBER+1))", 4, true},
		{"8,10", "echo $((QB_FRAME_NUMBER+1))", 0, false},
		{"8,10", "echo $(($QB_FRAME_NUMBER+1))", 4, false},
		{"8,10", "echo $((${QB_FRAME_NUMBER}+1)) QB_FRAME_NUMBER", 4, false},
		{"8,10", "echo $(($QB_PADDED_FRAME_NUMBER+1))", 4, true},
		{"1000-1005", "echo $((QB_FRAME_NUMBER+1))", 4, false},
		{"8", "n=1; let n=QB_FRAME_NUMBER*2; echo $n", 3, true},
		{"8", "printf %05d QB_FRAME_NUMBER", 3, true},
		{"8", "printf %s QB_FRAME_NUMBER; echo QB_FRAME_NUMBER", 3, false},
		{"8", "bash -c '[[ QB_FRAME_NUMBER -lt 10 ]] && echo'", 3, true},
		{"8", "echo $[QB_FRAME_NUMBER-1]", 3, true},
	} {
		row, err := Submission(&api.SubmitRequest{Command: []string{c.command}, Shell: true, Range: c.text,
			Padding: c.padding}, "ann", "")
		if err != nil {
			t.Fatal(err)
		}
		a, _ := agenda.Parse(row.Agenda, 0)
		if got := row.ItemRemarks(a); (len(got) == 1) != c.told {
			t.Errorf("%s of %s, padding %d: %q", c.command, c.text, c.padding, got)
		}
	}
}

// TestGrownWordsAgainstItems: a word, a check and a file of an item that become too long by its number are refused, and
// all that become no longer than the kernel takes are not. The oracle writes the number of each item into it.
func TestGrownWordsAgainstItems(t *testing.T) {
	draw := rand.New(rand.NewPCG(4, 2))
	refused := map[string]int{}
	for range 600 {
		entries := make([]string, 1+draw.IntN(3))
		for n := range entries {
			entries[n] = []string{strconv.Itoa(draw.IntN(1_000_000_000) - 500_000_000),
				"l" + strings.Repeat("x", draw.IntN(260))}[draw.IntN(2)]
		}
		padding := draw.IntN(22)
		token := []string{"QB_FRAME_NUMBER", "QB_PADDED_FRAME_START", "QB_FRAME_END"}[draw.IntN(3)]
		req := api.SubmitRequest{Range: strings.Join(entries, ","), Padding: padding, Command: []string{"true"}}
		member, most := "command", api.MaxWord
		make := func(tokens, filler int) string {
			return strings.Repeat(token+"/", tokens) + strings.Repeat("f", filler)
		}
		tokens := 1 + draw.IntN(500)
		if member = []string{"command", "validate"}[draw.IntN(2)]; member == "validate" {
			token, tokens, most = "QB_PADDED_FRAME_NUMBER", 1+draw.IntN(20), api.MaxPath
		}
		longest := 0
		spec := agenda.Spec{Range: req.Range, Padding: padding}
		items, err := agenda.Parse(spec, 0)
		if err != nil {
			t.Fatal(err)
		}
		for n := range items.Len() {
			longest = max(longest, len(items.Item(n).Start))
		}
		filler := most - tokens*(longest+1) + draw.IntN(5) - 2
		if filler < 0 || member == "validate" && filler > 255 {
			filler = draw.IntN(255)
		}
		text := make(tokens, filler)
		size := len(strings.ReplaceAll(text, token, strings.Repeat("1", longest)))
		if member == "validate" {
			req.Validate = []string{text + ":10K"}
		} else {
			req.Command = append(req.Command, text)
		}
		want := max(size, len(req.Command[len(req.Command)-1])) > most ||
			member == "validate" && (longest > 255 || filler > 255)
		row, err := Submission(&req, "ann", "")
		if err == nil {
			err = CheckItems(&row, items)
		}
		var found *api.Error
		if errors.As(err, &found) != want || want && found.Member != member {
			t.Fatalf("%s: %d of %s with a longest of %d and %d more: %v, want refused %v", member, tokens, token, longest,
				filler, err, want)
		}
		if want {
			refused[member]++
		}
	}
	if refused["command"] < 20 || refused["validate"] < 10 {
		t.Error("refused too few: ", refused)
	}
}

// TestItemsThatNoProcessCanHave are refused, and those a little smaller are not.
func TestItemsThatNoProcessCanHave(t *testing.T) {
	scattered := func(count int) string {
		words := make([]string, count)
		for n := range words {
			words[n] = strconv.Itoa(10_000_000 + n*n)
		}
		return strings.Join(words, ",")
	}
	for _, c := range []struct {
		req    api.SubmitRequest
		member string
	}{
		{api.SubmitRequest{Range: scattered(30000), Chunk: 30000}, "range"},
		{api.SubmitRequest{Range: scattered(30000), Partitions: 1}, "range"},
		{api.SubmitRequest{Range: scattered(30000), Chunk: 10000}, ""},
		{api.SubmitRequest{Range: scattered(30000), Chunk: 30000, Command: []string{"r", "QB_FRAME_START", "QB_FRAME_END"}},
			""},
		{api.SubmitRequest{Range: scattered(9000), Chunk: 9000, Command: []string{"r", "QB_FRAME_RANGE QB_FRAME_RANGE"}},
			"command"},
		{api.SubmitRequest{Range: scattered(9000), Chunk: 9000, Command: []string{"r", "QB_FRAME_RANGE", "QB_FRAME_RANGE"}},
			""},
		{api.SubmitRequest{Range: "1-20000", Chunk: 20000, Validate: []string{"f.QB_FRAME_NUMBER"}}, "validate"},
		{api.SubmitRequest{Range: "1-20000", Chunk: 20000, Validate: []string{"f.QB_FRAME_START"}}, ""},
		{api.SubmitRequest{Range: "1-9", Padding: 20, Shell: true,
			Command: []string{strings.Repeat("QB_FRAME_NUMBER ", 8000)}}, "command"},
		{api.SubmitRequest{Range: "1-9", Padding: 3, Shell: true, Command: []string{strings.Repeat("QB_FRAME_END ", 10000)}},
			""},
		{api.SubmitRequest{Range: "1-9", Padding: 3, Shell: true, Command: []string{strings.Repeat("$QB_FRAME_END ", 9000)}},
			""},
		{api.SubmitRequest{Range: strings.Repeat("l", 400),
			AgendaPostflights: []string{strings.Repeat("QB_FRAME_NUMBER ", 400)}}, "agenda_postflights"},
		{api.SubmitRequest{Range: strings.Repeat("l", 400),
			AgendaPreflights: []string{strings.Repeat("QB_FRAME_NUMBER ", 300)}}, ""},
		{api.SubmitRequest{Range: "1,."}, "range"},
		{api.SubmitRequest{Range: "..,b"}, "range"},
		{api.SubmitRequest{Range: "1,.,..,...", Chunk: 2}, ""},
	} {
		if c.req.Command == nil {
			c.req.Command = []string{"true"}
		}
		row, err := Submission(&c.req, "ann", "")
		if err != nil {
			t.Fatal(err)
		}
		a, err := agenda.Parse(row.Agenda, 0)
		if err != nil {
			t.Fatal(err)
		}
		var refused *api.Error
		member := ""
		if errors.As(CheckItems(&row, a), &refused) {
			member = refused.Member
		}
		if member != c.member {
			t.Errorf("%.40q of %.30s…: refused %q, want %q", c.req.Command, c.req.Range, member, c.member)
		}
	}
}
