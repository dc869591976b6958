-- +goose Up

-- Seconds after which an instance, or an item, is ended and fails; 0: none. What an attempt is promised of its host's
-- memory stands in its row already.
ALTER TABLE job
    ADD COLUMN timelimit        bigint NOT NULL DEFAULT 0 CHECK (timelimit >= 0),
    ADD COLUMN agenda_timelimit bigint NOT NULL DEFAULT 0 CHECK (agenda_timelimit >= 0);

-- +goose Down
ALTER TABLE job DROP COLUMN timelimit, DROP COLUMN agenda_timelimit;
