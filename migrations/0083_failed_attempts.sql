-- +goose Up

-- Attempts that failed, of those that have become daily sums.
ALTER TABLE job ADD COLUMN failed_attempts bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE job DROP COLUMN failed_attempts;
