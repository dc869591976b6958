package main

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"qb/api"
)

// documentedSQL is the statement of docs/fairshare.md, of which a reader replaces the name, the accounts and
// the half-life.
func documentedSQL(ts *testscript.TestScript, user string, accounts []string, halfLife string) string {
	text, err := os.ReadFile(filepath.Join(documents, "fairshare.md"))
	ts.Check(err)
	_, rest, _ := strings.Cut(string(text), "```sql\n")
	sql, _, found := strings.Cut(rest, "```")
	if !found {
		ts.Fatalf("the documentation has no statement")
	}
	return strings.NewReplacer("'ada'", "'"+user+"'", "ARRAY['']", "ARRAY['"+strings.Join(accounts, "', '")+"']", "416340", halfLife).Replace(sql)
}

// documents is found before scripts change the folder.
var documents = func() string {
	path, err := filepath.Abs("../../docs")
	if err != nil {
		panic(err)
	}
	return path
}()

// ledger USER ACCOUNT HALFLIFE looks that the documented statement, made of the rows, the lines of qbshare
// -explain, added up, and what the farm keeps are the same sum.
func ledger(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: ledger USER ACCOUNT HALFLIFE")
	}
	ts.Check(ts.Exec("qbshare", args[0], "-explain", "-json"))
	var explained []api.ShareExplanation
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &explained))
	var file struct {
		URL string `json:"database_url"`
	}
	text, err := os.ReadFile(filepath.Join(ts.Getenv("QB_STATE"), "farm.json"))
	ts.Check(err)
	ts.Check(json.Unmarshal(text, &file))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, file.URL)
	ts.Check(err)
	defer conn.Close(ctx)
	for _, x := range explained {
		if x.Account != args[1] {
			continue
		}
		var rows, kept float64
		ts.Check(conn.QueryRow(ctx, documentedSQL(ts, args[0], x.Accounts, args[2])).Scan(&rows, &kept))
		lines := 0.0
		for _, l := range x.Lines {
			if l.Charged {
				lines += l.Decayed
			}
		}
		// The statement is some moments later than the explanation, by which a little more has decayed.
		for what, v := range map[string]float64{"the farm keeps": kept, "the lines add up to": lines, "explained as": x.Ended} {
			if !(rows > 0) || math.Abs(v/rows-1) > 1e-3 {
				ts.Fatalf("%s %v, the statement says %v", what, v, rows)
			}
		}
		if math.Abs(kept/rows-1) > 1e-9 || math.Abs(x.Ended/lines-1) > 1e-9 {
			ts.Fatalf("rows %v and kept %v, lines %v and explained %v", rows, kept, lines, x.Ended)
		}
		return
	}
	ts.Fatalf("%s does not stand in account %q", args[0], args[1])
}
