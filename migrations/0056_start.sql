-- +goose Up

-- The time, in RFC 3339 and UTC, before which nothing of a job starts. '': it may start at once.
ALTER TABLE job ADD COLUMN start_at text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE job DROP COLUMN start_at;
