package worker

import (
	"crypto/rand"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"qb/api"
	"qb/worker/core"
	"qb/worker/proc"
)

// outerItem is an item with everything that qb can set for one.
func outerItem() core.Item {
	var item core.Item
	item.Spec = api.JobSpec{Job: 124, User: "ann", Agenda: true, Padding: 4, Command: []string{"true"}, LoadOnce: true}
	item.Desired.Attempt = api.AttemptID{Job: 124, Item: 7, Number: 2}
	item.Desired.Start, item.Desired.End, item.Desired.Step, item.Desired.Name = "0007", "0009", "2", "7-9x2"
	item.Desired.Env = map[string]string{"QB_GPUS": "1"}
	return item
}

func environmentOf(t interface{ Fatal(...any) }, l *launcher, item core.Item) map[string]string {
	list, err := l.environment(item, ownerFacts{home: "/home/ann", shell: "/bin/sh"})
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, entry := range list {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// TestItemVariablesAreTheTable: what the worker sets is what clients leave out.
func TestItemVariablesAreTheTable(t *testing.T) {
	t.Parallel()
	l := &launcher{environ: func() []string { return nil }, temps: "/tmp/qb-x", supervisor: "http://farm", host: "vm-1", programs: "/bin"}
	set := environmentOf(t, l, outerItem())
	if _, has := set["ROCR_VISIBLE_DEVICES"]; has {
		t.Error("an item with GPUs has ROCR_VISIBLE_DEVICES")
	}
	l.hidesGPUs.Store(true)
	set["ROCR_VISIBLE_DEVICES"] = environmentOf(t, l, core.Item{})["ROCR_VISIBLE_DEVICES"]
	for _, ofOwner := range []string{"PATH", "HOME", "SHELL", "USER", "LOGNAME"} {
		delete(set, ofOwner)
	}
	for _, ofStages := range []string{"QB_FRAME_STATUS", "QB_INSTANCE_STATUS", "QB_SYSTEM_EXIT_CODE", proc.MarkVariable} {
		// by the shim
		set[ofStages] = ""
	}
	var table []string
	for _, v := range api.ItemVariables {
		table = append(table, v.Name)
	}
	slices.Sort(table)
	if got := slices.Sorted(maps.Keys(set)); !slices.Equal(got, table) {
		t.Errorf("the worker sets\n%q, the table has\n%q", got, table)
	}
	if proc.MarkVariable != api.InstanceMark {
		t.Errorf("the mark is %s and %s", proc.MarkVariable, api.InstanceMark)
	}
}

// TestCopiedEnvironments: whatever of an item's environment comes with a job, the job's items have values of their own
// or none, and what is not the item's stays.
func TestCopiedEnvironments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		outer := &launcher{environ: func() []string { return nil }, temps: "/tmp/qb-outer", supervisor: "http://outer", host: "vm-1", programs: "/outer"}
		copied := environmentOf(r, outer, outerItem())
		copied[proc.MarkVariable], copied["SHOW"] = "outer", "dune"
		for _, name := range []string{"QB_FRAME_STATUS", "QB_INSTANCE_STATUS", "QB_SYSTEM_EXIT_CODE"} {
			copied[name] = "outer"
		}
		inner := &launcher{environ: func() []string { return nil }, host: "vm-2", supervisor: "http://inner", programs: "/inner"}
		if rapid.Bool().Draw(r, "temps") {
			inner.temps = "/tmp/qb-inner"
		}
		inner.hidesGPUs.Store(rapid.Bool().Draw(r, "hides"))
		var item core.Item
		item.Spec = api.JobSpec{Job: 125, User: "ann", Command: []string{"true"}, Agenda: rapid.Bool().Draw(r, "range")}
		item.Desired.Attempt = api.AttemptID{Job: 125, Number: 1}
		item.Desired.Start, item.Desired.Name = "3", "3"
		alone := environmentOf(r, inner, item)
		item.Spec.Env = copied
		got := environmentOf(r, inner, item)
		for _, v := range api.ItemVariables {
			value, has := got[v.Name]
			want, wanted := alone[v.Name]
			if value != want || has != wanted {
				r.Fatalf("%s=%q, alone %q", v.Name, value, want)
			}
		}
		if got["SHOW"] != "dune" {
			r.Fatalf("SHOW=%q", got["SHOW"])
		}
	})
}

// visible is how many devices of a machine programs see, by what its runtime makes of the variables: nil is not set.
type visible struct {
	of    string
	count func(value func(name string) *string) int
}

const devices = 4 // of each runtime

// listed is how many devices a list shows that ends at the first number that no device has.
func listed(list string) (n int) {
	for entry := range strings.SplitSeq(list, ",") {
		if number, err := strconv.Atoi(entry); err != nil || number < 0 || number >= devices {
			break
		}
		n++
	}
	return n
}

// runtimes are CUDA, both ways of AMD's (clr: HIP_VISIBLE_DEVICES if it is not empty, else CUDA_VISIBLE_DEVICES, of the
// devices that ROCr shows, counted from 0; OpenCL: GPU_DEVICE_ORDINAL), and Intel's.
var runtimes = []visible{
	{"CUDA", func(value func(string) *string) int {
		if list := value("CUDA_VISIBLE_DEVICES"); list != nil {
			return listed(*list)
		}
		return devices
	}},
	{"HIP", func(value func(string) *string) int {
		return ofAMD(value, "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
	}},
	{"OpenCL", func(value func(string) *string) int { return ofAMD(value, "GPU_DEVICE_ORDINAL") }},
	{"Level Zero", func(value func(string) *string) int {
		list := value("ZE_AFFINITY_MASK")
		if list == nil || *list == "" {
			return devices
		}
		return listed(*list)
	}},
}

func ofAMD(value func(string) *string, names ...string) int {
	shown := devices
	if list := value("ROCR_VISIBLE_DEVICES"); list != nil {
		shown = listed(*list)
	}
	for _, name := range names {
		if list := value(name); list != nil && *list != "" {
			return min(listed(*list), shown)
		}
	}
	return shown
}

// TestHiddenGPUs: by the rules of each runtime an item sees the GPUs that it holds, one without GPUs sees none unless
// its job names some, and all where the host gives none.
func TestHiddenGPUs(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		hides bool
		job   map[string]string
		gpus  string
		want  [4]int // by runtime
	}{
		{false, nil, "", [4]int{4, 4, 4, 4}},
		{true, nil, "", [4]int{0, 0, 0, 0}},
		{true, map[string]string{"CUDA_VISIBLE_DEVICES": "3"}, "", [4]int{1, 1, 4, 0}},
		{true, map[string]string{"CUDA_VISIBLE_DEVICES": ""}, "", [4]int{0, 0, 0, 0}},
		{true, map[string]string{"HIP_VISIBLE_DEVICES": "1,2"}, "", [4]int{0, 2, 4, 0}},
		{true, map[string]string{"ROCR_VISIBLE_DEVICES": "3"}, "", [4]int{0, 1, 1, 0}},
		{true, map[string]string{"ZE_AFFINITY_MASK": "1"}, "", [4]int{0, 0, 0, 1}},
		{true, nil, "1", [4]int{1, 1, 1, 1}},
		{true, map[string]string{"CUDA_VISIBLE_DEVICES": "3"}, "0,1", [4]int{2, 2, 2, 2}},
		{true, map[string]string{"ROCR_VISIBLE_DEVICES": "3", "HIP_VISIBLE_DEVICES": "0"}, "2,3", [4]int{2, 2, 2, 2}},
		{false, map[string]string{"ROCR_VISIBLE_DEVICES": ""}, "2,3", [4]int{2, 2, 2, 2}},
	} {
		l := &launcher{environ: func() []string { return nil }}
		l.hidesGPUs.Store(one.hides)
		var item core.Item
		item.Spec.Env = one.job
		if one.gpus != "" {
			item.Desired.Env = map[string]string{"QB_GPUS": one.gpus}
		}
		env := environmentOf(t, l, item)
		for n, runtime := range runtimes {
			got := runtime.count(func(name string) *string {
				if value, has := env[name]; has {
					return &value
				}
				return nil
			})
			if got != one.want[n] {
				t.Errorf("%+v: %s sees %d devices", one, runtime.of, got)
			}
		}
	}
}

// TestLastMark: a process belongs to the instance whose mark is last in its environment, however many there are.
func TestLastMark(t *testing.T) {
	t.Parallel()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	marks := []string{"outer" + rand.Text(), "middle" + rand.Text(), "own" + rand.Text()}
	attr := &os.ProcAttr{Env: []string{"A=1"}}
	for _, mark := range marks {
		attr.Env = append(attr.Env, proc.MarkVariable+"="+mark)
	}
	process, err := os.StartProcess(sleep, []string{"sleep", "60"}, attr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		process.Wait()
	})
	for n, mark := range append(marks, "own") {
		found := slices.ContainsFunc(proc.Leftovers(mark, proc.ID{}, false), func(p proc.Process) bool { return p.PID == process.Pid })
		if found != (n == 2) {
			t.Errorf("of the marks %q, %q is that of the process: %v", marks, mark, found)
		}
	}
}
