// Package parts makes several jobs of one submission: the preview items and the rest (p_agenda), or a job for each host
// (the flag host_list).
//
//	Of   row, agenda ──▶ rows of the jobs, in the order in which they are submitted; a single row for other submissions
//
// The package must never look at anything else: the same submission gives the same jobs, so that a repeated call finds
// the jobs that the first one made.
package parts
