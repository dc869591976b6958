package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// licensed plays a licence server and a program that needs a licence of it: "licensed serve SOCKET MOST" gives at most
// so many at a time, and refuses every second request; "licensed render SOCKET" asks, works for a moment,
// and gives it back.
func licensed() {
	var err error
	switch args := os.Args[1:]; args[0] {
	case "serve":
		err = serveLicences(args[1], args[2])
	case "render":
		err = renderLicensed(args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "FATAL:", err)
		os.Exit(100)
	}
}

func serveLicences(socket, most string) error {
	limit, err := strconv.Atoi(most)
	if err != nil {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	var out atomic.Int64
	for asked := 1; ; asked++ {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			if asked%2 == 0 || out.Add(1) > int64(limit) {
				fmt.Fprintln(conn, "no")
				return
			}
			fmt.Fprintln(conn, "yes")
			conn.Read(make([]byte, 1)) // until it is given back
			out.Add(-1)
		}()
	}
}

func renderLicensed(socket string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if answer != "yes\n" {
		return errors.New("no licence for rendering")
	}
	time.Sleep(200 * time.Millisecond)
	return nil
}
