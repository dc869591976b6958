-- +goose Up

-- How long an item of the job takes, in seconds, as its submitter has stated it; 0: not stated.
ALTER TABLE job ADD COLUMN time_estimate bigint NOT NULL DEFAULT 0 CHECK (time_estimate >= 0);

-- +goose Down
ALTER TABLE job DROP COLUMN time_estimate;
