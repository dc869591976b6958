package serve

import (
	"context"
	"slices"
	"strings"
	"time"

	"qb/api"
	"qb/internal/units"
	"qb/supervisor/job/facts"
	"qb/supervisor/lead/problem"
	"qb/supervisor/store"
	"qb/supervisor/wire/translate"
)

const (
	statsDays    = 30   // of a report that does not say from when
	maxStatsDays = 3660 // ten years
)

type statsIn struct {
	By      string `query:"by" maxLength:"300" doc:"Comma list of day, user, account, cluster, host, kind, class and tags such as prod_show; empty: one line for all."`
	From    string `query:"from" maxLength:"10" doc:"First UTC day, as 2026-09-01; empty: 29 days before the last."`
	To      string `query:"to" maxLength:"10" doc:"Last UTC day; empty: today. At most 3660 days in all."`
	User    string `query:"user" maxLength:"255" doc:"Only this owner's; empty: everybody's."`
	Account string `query:"account" maxLength:"255" doc:"Only this account and those below it; empty: all."`
	Cluster string `query:"cluster" maxLength:"255" doc:"Only jobs of this cluster and those below it; empty: all."`
	Host    string `query:"host" maxLength:"255" doc:"Only on this host; empty: all."`
	Limit   int    `query:"limit" minimum:"1" maximum:"9999" default:"1000" doc:"Rows at most."`

	Show    string `query:"prod_show" maxLength:"255" doc:"Only jobs with this tag, as the others below; empty: all."`
	Seq     string `query:"prod_seq" maxLength:"255"`
	Shot    string `query:"prod_shot" maxLength:"255"`
	Dept    string `query:"prod_dept" maxLength:"255"`
	Client  string `query:"prod_client" maxLength:"255"`
	Custom1 string `query:"prod_custom1" maxLength:"255"`
	Custom2 string `query:"prod_custom2" maxLength:"255"`
	Custom3 string `query:"prod_custom3" maxLength:"255"`
	Custom4 string `query:"prod_custom4" maxLength:"255"`
	Custom5 string `query:"prod_custom5" maxLength:"255"`
}

// tags are those asked for, in the order of farm.TagNames.
func (in *statsIn) tags() facts.Tags {
	return facts.Tags{in.Show, in.Seq, in.Shot, in.Dept, in.Client, in.Custom1, in.Custom2, in.Custom3, in.Custom4,
		in.Custom5}
}

func (s *adminService) stats(ctx context.Context, in *statsIn) (*jsonOf[api.Stats], error) {
	q, err := in.query(s.now())
	if err != nil {
		return nil, err
	}
	rows, err := s.reader.Stats(ctx, q)
	if err != nil {
		return nil, problem.Reading("the report; a shorter range of days is read faster", err)
	}
	shown := rows[:min(len(rows), in.Limit)]
	return &jsonOf[api.Stats]{api.Stats{From: api.DayOf(q.From), To: api.DayOf(q.To.AddDate(0, 0, -1)),
		More: len(rows) > in.Limit,
		Rows: translate.Each(shown, func(row store.StatsRow) api.StatsRow { return translate.StatsRow(row, q.By) })}}, nil
}

// query asks for one row more than is shown, to learn whether there are more.
func (in *statsIn) query(now time.Time) (q store.StatsQuery, err error) {
	q = store.StatsQuery{User: in.User, Account: in.Account, Cluster: in.Cluster, Host: in.Host, Limit: in.Limit + 1,
		Tags: in.tags()}
	last := now.UTC().Truncate(24 * time.Hour)
	if in.To != "" {
		if last, err = dayIn("to", in.To); err != nil {
			return q, err
		}
	}
	q.From, q.To = last.AddDate(0, 0, 1-statsDays), last.AddDate(0, 0, 1)
	if in.From != "" {
		if q.From, err = dayIn("from", in.From); err != nil {
			return q, err
		}
	}
	days := int(q.To.Sub(q.From) / (24 * time.Hour))
	if days < 1 || days > maxStatsDays {
		return q, problem.Invalid("from", "%s to %s are %d days; ask for 1 to %d", api.DayOf(q.From), api.DayOf(last), days,
			maxStatsDays)
	}
	if in.By == "" {
		return q, nil
	}
	for by := range strings.SplitSeq(in.By, ",") {
		if !slices.Contains(store.Groupings, by) || slices.Contains(q.By, by) {
			return q, problem.Invalid("by", "%q; use each of %s at most once, separated by commas", problem.Clip(in.By),
				units.Few(store.Groupings))
		}
		q.By = append(q.By, by)
	}
	return q, nil
}

// dayIn reads a UTC day of these centuries; the database knows no others.
func dayIn(field, text string) (time.Time, error) {
	day, err := time.Parse(time.DateOnly, text)
	if err != nil || day.Year() < 1970 {
		return day, problem.Invalid(field, "%q; write a day from 1970 on, such as 2026-09-01", problem.Clip(text))
	}
	return day, nil
}
