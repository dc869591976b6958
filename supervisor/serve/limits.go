package serve

import (
	"time"

	"qb/supervisor/store"
)

// Every queue, list, body and wait of the shell, together.
const (
	syncSlack     = 10 * time.Second
	watchEvery    = time.Second // a standby looks this often who leads
	readFor       = store.ReadFor
	recordFor     = 5 * time.Minute  // reading an ended job back, of a million attempts
	stopFor       = 10 * time.Second // a graceful stop in all
	readOnlyPace  = 2 * time.Second  // how long a sync is held at most where nothing can be written
	headerTimeout = 5 * time.Second
	bodyTimeout   = 30 * time.Second // for the whole body of a request
	idleTimeout   = 2 * time.Minute
	writeTimeout  = 30 * time.Second // one write to a stream's reader
	maxHeader     = 64 << 10

	maxOpenBody  = 16 << 10 // without a credential
	maxSmallBody = 1 << 20
	maxPicture   = 40 << 10 // in base64, with its attempt
	maxBody      = 16 << 20
	maxChunkBody = 6 << 20 // a log chunk in base64
	maxChunk     = 4 << 20

	// reads of users at a time, of the connections that the store has; the rest are for operators and the farm
	userReads = 5

	streamReaders   = 640 // of events and of the page, whose readers share what is sent
	streamsReserved = 32  // of them, for operators
	logFollowers    = 2000
	logsReserved    = 100
	streamHeartbeat = 15 * time.Second
	watchStill      = time.Second // so that the page knows within seconds that it is cut off
	followPoll      = 250 * time.Millisecond
	followQuiet     = 3 * time.Second // after an attempt's end, without its last chunk
)
