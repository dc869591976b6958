-- +goose Up

-- Attempts whose processes stand still by order: since when, and for how many seconds before that.
ALTER TABLE attempt ADD COLUMN suspended_at timestamptz;
ALTER TABLE attempt ADD COLUMN suspended double precision NOT NULL DEFAULT 0 CHECK (suspended >= 0);

-- +goose Down
ALTER TABLE attempt DROP COLUMN suspended_at, DROP COLUMN suspended;
