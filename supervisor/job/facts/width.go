package facts

import "fmt"

// NoLimit is a width without a limit but the site's, as jobs have it. Requests and qb.conf may write any negative
// number, as in Qube, or "*".
const NoLimit = -1

var numberNames = [...]string{2: "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// NoLimitRemark is what is said of a negative width that could be meant as a difference: any but NoLimit.
func NoLimitRemark(width int) string {
	fewer := fmt.Sprint(-width)
	if -width < len(numberNames) {
		fewer = numberNames[-width]
	}
	return fmt.Sprintf("%d is no limit, not %s fewer; to lower the width write its new value", width, fewer)
}
