package agenda

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestReservations(t *testing.T) {
	for _, c := range []struct {
		text string
		want Reservations
	}{
		{"", nil},
		{" ", nil},
		{"host.processors=4", Reservations{{"host", "processors", 4, 4, false}}},
		{"host.processors=1+", Reservations{{"host", "processors", 1, Unlimited, false}}},
		{"host.processors=2-4", Reservations{{"host", "processors", 2, 4, false}}},
		{"host.processors=3-3", Reservations{{"host", "processors", 3, 3, false}}},
		{"host.processors=2*", Reservations{{"host", "processors", 2, Unlimited, true}}},
		{"host.processors=all", Reservations{{"host", "processors", 1, Unlimited, true}}},
		{"host.memory=8GB", Reservations{{"host", "memory", 8 << 30, 8 << 30, false}}},
		{"host.memory=8000", Reservations{{"host", "memory", 8000 << 20, 8000 << 20, false}}},
		{"host.gpus=1 , host.scratch = 20g", Reservations{{"host", "gpus", 1, 1, false}, {"host", "scratch", 20 << 30, 20 << 30, false}}},
		{"license.nuke=1,host.maya=1", Reservations{{"license", "nuke", 1, 1, false}, {"host", "maya", 1, 1, false}}},
		{"global.a=1,global_host.a=2,license_host.a=3,scoped.a=4", Reservations{
			{"global", "a", 1, 1, false}, {"global_host", "a", 2, 2, false}, {"license_host", "a", 3, 3, false}, {"scoped", "a", 4, 4, false}}},
		{"license.memory=5", Reservations{{"license", "memory", 5, 5, false}}},
	} {
		got, err := ParseReservations(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
}

func TestReservationsAsked(t *testing.T) {
	none, _ := ParseReservations("license.nuke=1")
	if s := none.Slots(); s.Least != 1 || s.Most != 1 || s.Idle || none.Memory() != 0 {
		t.Errorf("who names no slots takes %v, memory %d", s, none.Memory())
	}
	some, _ := ParseReservations("host.processors=2-4,host.memory=1GB")
	if s := some.Slots(); s.Least != 2 || s.Most != 4 || some.Memory() != 1<<30 {
		t.Errorf("%v, memory %d", s, some.Memory())
	}
}

func TestReservationsRefused(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		want   string
	}{
		{"host.processors", 16, "no amount is given for host.processors; write host.processors=1"},
		{"host.processors=", 17, "no amount is given"},
		{"processors=4", 1, `"processors" is no resource; write one such as host.processors=4`},
		{"host.=4", 1, "is no resource"},
		{"hots.gpus=1", 1, `there is no class of resources "hots"; did you mean host?; there are host, license`},
		{"host.gp us=1", 6, `"gp us" is no name of a resource`},
		{"host.a+=1", 6, "is no name of a resource"},
		{"host.gpus=1,,host.maya=1", 13, "nothing stands here; remove the comma"},
		{"host.gpus=1,", 13, "nothing stands here"},
		{"host.gpus=1, host.gpus=2", 14, "host.gpus is reserved twice"},
		{"host.processors=x", 17, `"x" is no number of host.processors; write 4, 1+, 2-4, 2* or all`},
		{"host.processors=-1", 17, "is no number of host.processors"},
		{"host.processors=+1", 17, "is no number of host.processors"},
		{"host.processors=2-", 17, `"" is no number of host.processors`},
		{"host.processors=2-4+", 17, `"2-4" is no number of host.processors`},
		{"host.processors=4-2", 17, "4-2 of host.processors is the wrong way round; write 2-4"},
		{"host.processors=0", 17, "0 of host.processors reserves nothing"},
		{"host.processors=0+", 17, "reserves nothing"},
		{"host.processors=99999999999999999999", 17, "more than any host or farm has"},
		{"host.gpus = 1+", 13, `"1+" is no number of host.gpus; write a plain one such as 1`},
		{"host.gpus=1.5", 11, "is no number of host.gpus"},
		{"host.gpus=4GB", 11, "is no number of host.gpus"},
		{"host.memory=8XB", 13, `"8XB" is no size; write 4GiB`},
		{"host.memory=0", 13, "host.memory of nothing"},
		{"host.memory=1GB+", 13, "is no size"},
		{strings.Repeat("host.a=1,", 32) + "host.a=1", 1, "there are 33 of them, more than 32"},
	} {
		_, err := ParseReservations(c.text)
		var mistake *SyntaxError
		if !errors.As(err, &mistake) || mistake.Column != c.column || !strings.Contains(mistake.Reason, c.want) {
			t.Errorf("%.60s: %v\nwant column %d: %s", c.text, err, c.column, c.want)
		}
	}
	_, err := ParseReservations("host.processors=4, licence.nuke=1")
	want := `reservations, column 20: there is no class of resources "licence"; did you mean license?; there are host, license, global, license_host, global_host, scoped
  host.processors=4, licence.nuke=1
                     ^`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

func TestReservationProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`(license|global|scoped)\.[a-z]{1,3}|host\.(gpus|maya|processors|memory|swap)`), 1, 8, rapid.ID[string]).Draw(t, "names")
		var parts []string
		for _, name := range names {
			n := rapid.IntRange(1, 5000).Draw(t, "n")
			amount := fmt.Sprint(n)
			if name == "host.processors" {
				amount = rapid.SampledFrom([]string{amount, amount + "+", amount + "*", "all", fmt.Sprintf("%d-%d", n, n+3)}).Draw(t, "slots")
			}
			parts = append(parts, name+"="+amount)
		}
		list, err := ParseReservations(strings.Join(parts, " , "))
		if err != nil || len(list) != len(names) {
			t.Fatalf("%v: %v, %v", parts, list, err)
		}
	})
}

func FuzzReservation(f *testing.F) {
	for _, seed := range []string{
		"host.processors=4", "host.processors=1+", "host.processors=2-4", "host.processors=2*", "host.processors=all", "host.memory=8GB",
		"host.gpus=1,host.scratch=20GB", "license.nuke=1", "host.maya=1", "host.processors=-1", "host.memory=1e9", "=", ".=.", ",", "host.memory=9999999PB", "host.ü=1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseReservations(text)
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		for _, r := range list {
			if r.Least < 1 || r.Most != Unlimited && r.Most < r.Least {
				t.Fatalf("%q: %+v", text, r)
			}
		}
	})
}
