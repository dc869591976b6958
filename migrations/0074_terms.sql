-- +goose Up

-- The latest terms, each as its number and its begin in microseconds: a host that obeyed another of one of these numbers did
-- so before the rows were put back.
ALTER TABLE supervisor ADD COLUMN terms bigint[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE supervisor DROP COLUMN terms;
