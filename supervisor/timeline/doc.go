// Package timeline remembers who had how many instances: a sample of the view each 10 seconds for a day and each 2 minutes for a
// week, and how many items were stopped for others and how many instances promoted in between.
//
//	view, each 10 s ──▶ Take ──▶ samples of a day ─┐
//	                        └──▶ samples of a week ┼──▶ Of: means by job, user or account, and marks
//	writes of a commit ──▶ Note ──▶ marks ─────────┘
//
// It is in memory and bounded. What it does not know, as another supervisor led or none did, is told as a gap. It must never
// make up a value for a gap.
//
// Read: timeline.go (samples and marks), answer.go (what is made of them).
package timeline
