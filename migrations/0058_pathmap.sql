-- +goose Up

-- Paths of who submitted a job with the same on its hosts, FROM=TO.
ALTER TABLE job ADD COLUMN pathmap text[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE job DROP COLUMN pathmap;
