// Package picture makes a small JPEG of a file that an item has written.
//
//	Maker (in the agent) ── Ask ──▶ Main (a child with the identity of the item's owner) ──▶ perhaps the
//	      │               ◀─ Answer ─┘                                                worker_picture_command
//	      └─▶ the supervisor
//
// One child at a time, behind a bounded queue: what does not fit in gets no picture. The file comes from a user and may
// be anything, so only the child opens it: a regular file, whose bytes and pixels are counted before it is decoded,
// with limits of memory, processor time and time of its own.
//
// It must never open a path that an owner names with rights of the agent, wait without a bound, or have an item's end
// wait for it.
//
// Read first: maker.go (the agent's side), child.go (the owner's side), make.go (pixels).
package picture
