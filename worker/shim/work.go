package shim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"qb/api"
	"qb/internal/patterns"
)

// A program that is kept and its shim talk over the socket that QB_WORK names, one JSON value a line: see
// docs/sessions.md. A request has one reply.

// Bounds of that.
const (
	workLine  = 64 << 10 // bytes of a request
	workConns = 16
	workWait  = 10 * time.Second      // for which a request for an item is held at most
	workLeast = 10 * time.Millisecond // the same at least, so that a program that asks on and on costs little
	workWrite = 5 * time.Second
)

func status(word string) api.ProgramReply { return api.ProgramReply{Status: word} }

func refuse(code, format string, args ...any) api.ProgramReply {
	return api.ProgramReply{Error: code, Detail: fmt.Sprintf(format, args...)}
}

// errLong says that a request has no end where one must have it.
var errLong = errors.New("a request is too long")

// readRequest reads a line. After an error nothing more can be read of the connection; a refusal, which has an Error,
// is the reply to a request that makes no sense.
func readRequest(lines *bufio.Reader) (r api.ProgramRequest, refusal api.ProgramReply, err error) {
	var line []byte
	for {
		piece, err := lines.ReadSlice('\n')
		if len(line)+len(piece) > workLine {
			return r, refuse(api.ProgramTooLong, "the request takes more than %d bytes; write what is larger into a file",
				workLine), errLong
		}
		line = append(line, piece...)
		if err == nil {
			break
		}
		if err != bufio.ErrBufferFull {
			return r, refusal, err
		}
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, refuse(api.ProgramNotJSON, "the request %.200q is no JSON object of the known members: %v",
			bytes.TrimSpace(line), err), nil
	}
	if r.Version != api.ProgramVersion {
		return r, refuse(api.ProgramUnknown, "version %d of the protocol is not known; this host knows version %d", r.Version,
			api.ProgramVersion), nil
	}
	return r, refusal, nil
}

// checkReport finds what is wrong with the report of an item itself.
func checkReport(r *api.ProgramRequest) (refusal api.ProgramReply) {
	switch r.Status {
	case api.ProgramComplete, api.ProgramFailed, api.ProgramRunning:
	default:
		return refuse(api.ProgramUnknown,
			"the status %.100q of an item is not known; use complete, failed or running", r.Status)
	}
	if r.Status == api.ProgramFailed && r.Code != "" && r.Code != api.ProgramEnvironment {
		return refuse(api.ProgramUnknown, "the code %.100q of a failure is not known; use %s, or none", r.Code,
			api.ProgramEnvironment)
	}
	if len(r.Result) > 0 {
		var small bytes.Buffer
		_ = json.Compact(&small, r.Result) // it was parsed
		if r.Result = small.Bytes(); len(r.Result) > api.MaxResult {
			return refuse(api.ProgramResultTooLong, "the result takes %d bytes of JSON, and at most %d are kept; write it into a file and report the path",
				len(r.Result), api.MaxResult)
		}
	}
	if len(r.OutputPaths) > patterns.MostPaths {
		return refuse(api.ProgramTooLong, "the report names %d output paths, and at most %d are kept; report the folder of the files",
			len(r.OutputPaths), patterns.MostPaths)
	}
	for _, path := range r.OutputPaths {
		if len(path) > patterns.MaxPath {
			return refuse(api.ProgramTooLong, "the output path %.100q … has %d bytes, and at most %d are kept; use a shorter path",
				path, len(path), patterns.MaxPath)
		}
	}
	return api.ProgramReply{}
}
