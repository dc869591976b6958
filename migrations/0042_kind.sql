-- +goose Up

-- A name that jobs of one sort share, for filters and for requirements such as one job of a kind on each host.
ALTER TABLE job ADD COLUMN kind text NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE job DROP COLUMN kind;
