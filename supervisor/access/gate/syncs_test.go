package gate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"qb/api"
)

// syncOf is a sync of a host with so many instances, as an agent writes it.
func syncOf(instances int) []byte {
	zero := 0
	s := api.Sync{
		Protocol: api.Protocol, Host: "render-1", MachineID: "m", BootID: "b", StateID: "s", Incarnation: "i",
		Sequence: 100, Heard: 199, Epoch: 1, Slots: instances, Cores: 32,
		Memory:     api.SyncMemory{Total: 64 << 30, Available: 9 << 30},
		Properties: map[string]string{"host.os": "linux"}, Owners: &api.SyncOwners{LowestUID: 1000}, HoldSeconds: 10,
	}
	for n := range instances {
		s.Jobs = append(s.Jobs, api.JobVersion{Job: int64(n), Version: 3})
		s.Instances = append(s.Instances, api.SyncInstance{
			Job: int64(n), Instance: n, Attempt: api.AttemptID{Job: int64(n), Item: 1000 + n, Number: 1},
			State: "running", Memory: 1 << 30,
		})
	}
	s.Finished = append(s.Finished, api.Finished{
		Attempt: api.AttemptID{Job: 1, Item: 999, Number: 1}, Outcome: "exit", ExitCode: &zero, Wall: 33.3,
		Highlights: []string{"é \" \\ <"},
	})
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return data
}

// Whatever a body is, it is read, or refused, as by the standard library.
func FuzzFastSyncs(f *testing.F) {
	whole := string(syncOf(2))
	for _, body := range []string{
		whole, "", "null", "[]", "{}", whole + " ", whole + "x", whole[:len(whole)/2], `{"host":"a","host":"b"}`,
		`{"HOST":"a"}`, `{"slots":"16"}`, `{"slots":1.5}`, `{"slots":1e2}`, `{"sequence":-1}`, `{"instances":null}`,
		`{"instances":[null]}`, `{"properties":{"a":"b","a":"c"}}`, `{"unknown":{"a":[1,2,{}]}}`,
		`{"hold_seconds":1e400}`, `{"host":"\ud800"}`, `{"owners":null,"usage":{}}`,
		`{"finished":[{"exit_code":null}]}`, strings.Repeat("[", 20_000), `{"held":{}}`, `{"host":null}`,
		`{"memory":{"total":1},"memory":{"cap":2}}`,
	} {
		f.Add(body)
	}
	read := FastSyncs(json.Unmarshal)
	f.Fuzz(func(t *testing.T, body string) {
		var fast, standard api.Sync
		got, want := read([]byte(body), &fast), json.Unmarshal([]byte(body), &standard)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("%q: %v, by the standard library %v", body, got, want)
		}
		if want == nil && !reflect.DeepEqual(fast, standard) {
			t.Fatalf("%q is read as\n%+v, by the standard library\n%+v", body, fast, standard)
		}
	})
}

// BenchmarkReadSync reads a sync of 16 instances by both readers.
func BenchmarkReadSync(b *testing.B) {
	body := syncOf(16)
	readers := map[string]func([]byte, any) error{"standard": json.Unmarshal, "fast": FastSyncs(json.Unmarshal)}
	for name, read := range readers {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := read(body, new(api.Sync)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
