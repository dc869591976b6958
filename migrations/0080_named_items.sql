-- +goose Up

-- No older release may read an agenda whose items are divided where START, END and STEP do not name them: it would count fewer.
COMMENT ON COLUMN job.agenda IS 'as given, never expanded; named: items are divided until their ends and step name them';

-- +goose Down
COMMENT ON COLUMN job.agenda IS NULL;
