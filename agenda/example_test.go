package agenda_test

import (
	"fmt"

	"qb/agenda"
)

// A range in chunks of four.
func ExampleParse() {
	a, err := agenda.Parse(agenda.Spec{Range: "1-10", Chunk: 4}, agenda.MaxItems)
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range a.Len() {
		item := a.Item(n)
		fmt.Println(item.Name, item.Start, item.End, item.Step)
	}
	// Output:
	// 1-4 1 4 1
	// 5-8 5 8 1
	// 9-10 9 10 1
}

// What a host must have for a job.
func ExampleRequirement_Holds() {
	r, err := agenda.ParseRequirement("host.memory >= 8GB", []agenda.Property{{Name: "host.memory", Kind: agenda.KindSize}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, memory := range []int64{4 << 30, 16 << 30} {
		fmt.Println(r.Holds(func(string) (agenda.Value, bool) { return agenda.SizeValue(memory), true }))
	}
	// Output:
	// false
	// true
}
