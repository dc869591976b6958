-- +goose Up

-- Commands that the worker runs before and after an item's own, once per instance or for each item, and output files that must be there after it.
ALTER TABLE job ADD COLUMN preflights text[] NOT NULL DEFAULT '{}';
ALTER TABLE job ADD COLUMN postflights text[] NOT NULL DEFAULT '{}';
ALTER TABLE job ADD COLUMN agenda_preflights text[] NOT NULL DEFAULT '{}';
ALTER TABLE job ADD COLUMN agenda_postflights text[] NOT NULL DEFAULT '{}';
ALTER TABLE job ADD COLUMN validate text[] NOT NULL DEFAULT '{}';

-- +goose Down
ALTER TABLE job DROP COLUMN preflights, DROP COLUMN postflights, DROP COLUMN agenda_preflights, DROP COLUMN agenda_postflights, DROP COLUMN validate;
