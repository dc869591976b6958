-- +goose Up

-- Suspended attempts whose slots others may have (supervisor_suspend_slots): since when, for how many seconds before that, and since
-- when they wait for slots to go on.
ALTER TABLE attempt ADD COLUMN released_at timestamptz;
ALTER TABLE attempt ADD COLUMN released double precision NOT NULL DEFAULT 0 CHECK (released >= 0);
ALTER TABLE attempt ADD COLUMN resuming_at timestamptz;
ALTER TABLE attempt ADD CONSTRAINT attempt_standstill CHECK ((released_at IS NULL OR suspended_at IS NOT NULL)
	AND (resuming_at IS NULL OR released_at IS NOT NULL));

-- +goose Down
ALTER TABLE attempt DROP COLUMN released_at, DROP COLUMN released, DROP COLUMN resuming_at;
