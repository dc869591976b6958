package farm_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// whoGoes reads a cell of the table in docs/fairshare.md: how a job is submitted, and what is done with it then.
func whoGoes(t *testing.T, cell string) (submit string, then []string) {
	cluster, user := "/a", "less"
	for _, part := range strings.Split(cell, ", ") {
		part = strings.TrimSuffix(strings.TrimSuffix(part, " of an owner"), " with")
		for _, owner := range []string{"more", "less"} {
			if rest, found := strings.CutSuffix(part, " of the owner who used "+owner); found || part == "of the owner who used "+owner {
				part, user = rest, owner
			}
			if rest, found := strings.CutSuffix(part, " by the owner who used "+owner); found {
				part, user = rest+" by the owner", owner
			}
		}
		if n := regexp.MustCompile(`^(with |then given |then |given )?(?:priority )?([0-9]+)( by an operator| by the owner)?$`).FindStringSubmatch(part); n != nil {
			switch {
			case n[3] == " by an operator":
				submit += " operator priority=" + n[2]
			case n[1] == "":
				submit += " priority=" + n[2]
			default:
				then = append(then, "modify %d priority="+n[2])
			}
			continue
		}
		switch part {
		case "usual", "of the same owner", "of the cluster of the host", "of the owner who used more", "of the owner who used less":
		case "`elite`":
			submit += " flags=elite"
		case "given the default priority by an operator":
			submit += " operator priority=9000"
		case "of another cluster":
			cluster = "/b"
		case "put at the top by an operator":
			then = append(then, "top %d by=op")
		case "put at the bottom by an operator":
			then = append(then, "bottom %d by=op")
		case "put behind by an operator":
			submit += " operator priority=9999"
		default:
			t.Fatalf("what is %q in %q?", part, cell)
		}
	}
	return fmt.Sprintf("submit one user=%s items=1 max=0 cluster=%s%s", user, cluster, submit), then
}

// TestWhoGoesBeforeWhom has a farm start the two jobs of each row of the table in docs/fairshare.md, whichever was
// submitted first.
func TestWhoGoesBeforeWhom(t *testing.T) {
	page, err := os.ReadFile("../../docs/fairshare.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| first | then |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := regexp.MustCompile(`(?m)^\| ([^|-]+) \| ([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(table, -1)
	if len(rows) < 15 {
		t.Fatalf("the table has %d rows", len(rows))
	}
	orders := map[string]string{"cluster": "cluster,operator,fairshare,own_priority,vtime,age,id", "priority": "operator,fairshare,own_priority,cluster,vtime,age,id"}
	for _, row := range rows {
		for _, algorithm := range strings.Split(row[3], ", ") {
			for _, firstComes := range []bool{true, false} {
				if got := whichStarts(t, orders[algorithm], row[1], row[2], firstComes); got != 0 {
					t.Errorf("order %s, %q is to go before %q (submitted in this order: %v)", algorithm, row[1], row[2], firstComes)
				}
			}
		}
	}
}

// whichStarts submits two jobs that wait for a slot, and says which of them gets it.
func whichStarts(t *testing.T, order, first, then string, firstComes bool) int {
	r := newRig(t)
	r.say("policy default=0 primary=disabled default_priority=9000 fairshare=true half_life=100h pe=sum rule=tree order=" + order)
	r.say("host a slots=1 cluster=/a")
	r.say("submit past user=more items=1")
	r.say("finish 1")
	r.say("submit holds user=other items=1 flags=uninterruptible operator priority=1")
	cells := []string{first, then}
	if !firstComes {
		cells = []string{then, first}
	}
	var changes []string
	for n, cell := range cells {
		submit, then := whoGoes(t, cell)
		r.say(submit)
		for _, change := range then {
			changes = append(changes, fmt.Sprintf(change, n+3))
		}
	}
	for _, change := range changes {
		r.say(change)
	}
	r.say("finish 2")
	started := -1
	for n := range cells {
		if len(r.farm.View(r.now).Jobs) != 4 {
			t.Fatalf("%s\n%s", strings.Join(cells, " | "), strings.Join(r.said, "\n"))
		}
		if r.farm.View(r.now).Jobs[n+2].Primary == 1 {
			started = n
		}
	}
	if !firstComes {
		started = 1 - started
	}
	return started
}
