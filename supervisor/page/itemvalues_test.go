package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"qb/api"
	"qb/supervisor/job/facts"
)

func done(item int, host string, wall float64) *facts.AttemptFacts {
	return &facts.AttemptFacts{RunFacts: facts.RunFacts{AttemptID: facts.AttemptID{Job: 1, Item: facts.ItemNo(item), Number: 1},
		Host: facts.HostID(host), State: facts.Done}, Wall: wall, Peak: int64(wall) << 20}
}

func name(n facts.ItemNo) string { return "f" + strconv.Itoa(int(n)) }

// reply is the column of some attempts of a job of 100 items.
func reply(of string, attempts ...*facts.AttemptFacts) api.ItemValuesReply {
	c := NewColumn(of, 100)
	for _, a := range attempts {
		c.Add(a)
	}
	return c.Reply(1, 2, name)
}

// TestFault: a long item is the host's fault if all items of that host are slow, and has no known cause if the host ran
// few others.
func TestFault(t *testing.T) {
	var all []*facts.AttemptFacts
	for n := range 40 {
		all = append(all, done(n, "good", 10+float64(n%3)))
	}
	all = append(all, done(40, "good", 100))
	for n := range 4 {
		all = append(all, done(41+n, "bad", 60))
	}
	all = append(all, done(50, "new", 80))
	for _, of := range []string{"seconds", "memory"} {
		r, got := reply(of, all...), map[string]string{}
		for _, o := range r.Outliers {
			got[o.Item] = fmt.Sprint(o.Fault, " ", o.OthersMedian)
		}
		want := map[string]string{"f40": "item 11", "f41": "host 60", "f42": "host 60", "f43": "host 60", "f44": "host 60",
			"f50": "unknown 0"}
		if fmt.Sprint(got) != fmt.Sprint(want) || r.OutliersAll != 6 || r.Outliers[0].Item != "f40" ||
			r.Outliers[0].Times != 9.09 {
			t.Errorf("%s: outliers are %v of %d, want %v; the first is %+v", of, got, r.OutliersAll, want, r.Outliers[0])
		}
		if s := r.Spread; s.Count != 46 || s.Least != 10 || s.Median != 11 || s.Most != 100 {
			t.Errorf("%s: spread %+v", of, *s)
		}
	}
}

// TestValues: items that run, run again or failed do not count in the distribution.
func TestValues(t *testing.T) {
	failed, again, live := done(1, "h", 5), done(2, "h", 7), done(3, "h2", 0)
	failed.State, again.State, again.Again, live.State = facts.Failed, facts.Failed, facts.ByItself, facts.Running
	failed.Number, again.Number = 3, 2
	for of, want := range map[string]string{"seconds": "[4 5]", "memory": "[4 5]", "attempts": "[1 3 2 1]",
		"host": "[1 1 0 2]"} {
		r := reply(of, done(0, "h", 4), failed, again, live)
		if fmt.Sprint(r.Values) != want {
			t.Errorf("%s: %v, want %s", of, r.Values, want)
		}
		if of == "host" && fmt.Sprint(r.Hosts) != "[h h2]" || of != "host" && (r.Spread == nil || r.Spread.Count != 1) {
			t.Errorf("%s: hosts %v, spread %+v", of, r.Hosts, r.Spread)
		}
		if len(r.Outliers) > 0 {
			t.Errorf("%s: one complete item stands out: %+v", of, r.Outliers)
		}
	}
	if r := reply("seconds"); len(r.Values) != 0 || r.Spread != nil {
		t.Errorf("of nothing: %+v", r)
	}
}

// TestRounded: three digits are within half a percent of the value, from a second on.
func TestRounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1, 1e9).Draw(t, "value")
		if got := rounded(v); math.Abs(got-v) > v*0.005001 {
			t.Fatalf("%v becomes %v", v, got)
		}
	})
}

// TestColumnBytes: the values of 100,000 items have a limit.
func TestColumnBytes(t *testing.T) {
	const items, most = 100_000, 180_000
	r := rand.New(rand.NewPCG(1, 2))
	for _, of := range []string{"seconds", "memory", "attempts", "host"} {
		c := NewColumn(of, items)
		for n := range items {
			a := done(n, fmt.Sprintf("rn%04d", r.IntN(1000)), 60*math.Exp(r.NormFloat64()/2))
			a.Number = 1 + r.IntN(10)/9
			c.Add(a)
		}
		data, err := json.Marshal(c.Reply(1, 2, name))
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, 5) // as the supervisor
		_, _ = w.Write(data)                    // to memory
		_ = w.Close()
		t.Logf("%s of %d items: %d bytes, %d compressed", of, items, len(data), packed.Len())
		if packed.Len() > most {
			t.Errorf("%s of %d items take %d bytes compressed, more than %d", of, items, packed.Len(), most)
		}
	}
}
