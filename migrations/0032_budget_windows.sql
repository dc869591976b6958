-- +goose Up

-- A budget's period is the time before each moment. It has thirty parts; what ended attempts used is known of each, the
-- latest first, and that is the one that has begun at since. What was used counts as used at the begin of its former period.
ALTER TABLE budget ADD COLUMN spent double precision[] NOT NULL DEFAULT '{}' CHECK (0 <= ALL (spent) AND cardinality(spent) <= 31);
UPDATE budget SET spent = ARRAY[used] WHERE used > 0;
ALTER TABLE budget ALTER COLUMN spent DROP DEFAULT, DROP COLUMN used;

-- +goose Down
ALTER TABLE budget ADD COLUMN used double precision NOT NULL DEFAULT 0 CHECK (used >= 0);
UPDATE budget SET used = (SELECT coalesce(sum(amount), 0) FROM unnest(spent) AS amount);
ALTER TABLE budget ALTER COLUMN used DROP DEFAULT, DROP COLUMN spent;
