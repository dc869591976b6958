-- +goose Up

-- How failed items are retried, and when what runs long is reported. Seconds; 0: not at all.
ALTER TABLE job ADD COLUMN retrywork_delay bigint NOT NULL DEFAULT 0 CHECK (retrywork_delay >= 0);
ALTER TABLE job ADD COLUMN retrysubjob int NOT NULL DEFAULT 0 CHECK (retrysubjob >= 0);
ALTER TABLE job ADD COLUMN timeout bigint NOT NULL DEFAULT 0 CHECK (timeout >= 0);
ALTER TABLE job ADD COLUMN agenda_timeout bigint NOT NULL DEFAULT 0 CHECK (agenda_timeout >= 0);

-- +goose Down
ALTER TABLE job DROP COLUMN retrywork_delay, DROP COLUMN retrysubjob, DROP COLUMN timeout, DROP COLUMN agenda_timeout;
