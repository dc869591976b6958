package smartshare_test

import (
	"fmt"

	"qb/smartshare"
)

// Ten slots and three jobs: each gets its primaries, and what is left is shared equally, up to the cap of each.
func ExampleField_Divide() {
	f := smartshare.Field{
		Capacity: []int{10}, Open: [][]int{{0}},
		Claims: []smartshare.Claim{{Need: 2, Cap: 8, Weight: 1}, {Need: 1, Cap: 1, Weight: 1}, {Need: 1, Cap: 9, Weight: 1}},
	}
	d := f.Divide()
	fmt.Println("primaries", d.Grant, "secondaries", d.Target)
	// Output: primaries [2 1 1] secondaries [3 1 2]
}

// Six slots in one pool, of which a job of twice the weight gets twice as many.
func ExampleWaterFill() {
	fmt.Println(smartshare.WaterFill([]smartshare.Share{{Cap: 9, Weight: 2}, {Cap: 9, Weight: 1, Rank: 1}}, 6))
	// Output: [4 2]
}
