package smartshare

// Draw is a number in [0,1) made of a seed and of what it is drawn for, and of nothing else: the same
// question has the same answer at any time and after any takeover. (SplitMix64; Steele, Lea and Flood,
// OOPSLA 2014.)
func Draw(seed uint64, about ...uint64) float64 {
	x := mix(seed)
	for _, a := range about {
		x = mix(x ^ mix(a))
	}
	return float64(x>>11) / (1 << 53)
}

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// LotteryLeast is the shortest time of an item that counts, in seconds.
const LotteryLeast = 1.0

// Draws picks one contender after another at random until one is accepted, each with the least of the
// times over its own; times below LotteryLeast count as that. The picks follow from seed and about alone.
func Draws(times []float64, seed uint64, about ...uint64) int {
	least := times[0]
	for _, t := range times {
		least = min(least, t)
	}
	least = max(least, LotteryLeast)
	about = append(about[:len(about):len(about)], 0)
	round := &about[len(about)-1]
	for ; *round < maxDraws; *round += 2 {
		i := min(int(Draw(seed, about...)*float64(len(times))), len(times)-1)
		*round++
		accepted := Draw(seed, about...) < least/max(times[i], LotteryLeast)
		*round--
		if accepted {
			return i
		}
	}
	return 0
}

// maxDraws bounds the rounds of one decision; to come so far is less likely than a broken machine.
const maxDraws = 1 << 16
