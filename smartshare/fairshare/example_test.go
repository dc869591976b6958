package fairshare_test

import (
	"fmt"

	"qb/smartshare/fairshare"
)

// What was used a half-life ago counts half.
func ExampleUsage_Charge() {
	const hour, halfLife = 3600.0, 7 * 24 * 3600.0
	u := fairshare.Usage{}.Charge(0, 100*hour, halfLife)
	fmt.Printf("%.0f core hours after a week\n", u.Read(halfLife, halfLife)/hour)
	// Output: 50 core hours after a week
}

// Two users with equal shares: who has used everything comes after who has used nothing.
func ExampleStandings() {
	for _, s := range fairshare.Standings([]fairshare.Sharer{{Parent: -1, Shares: 1, Usage: 90}, {Parent: -1, Shares: 1}}) {
		fmt.Printf("entitled to %.1f, had %.1f: factor %.2f\n", s.Entitled, s.Received, s.Factor)
	}
	// Output:
	// entitled to 0.5, had 1.0: factor 0.25
	// entitled to 0.5, had 0.0: factor 1.00
}
