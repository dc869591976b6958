-- +goose Up

-- The timeline of Postgres on which the last term began, 0 if not known: it rises with each promotion of a replica. And a higher one
-- that a host has obeyed: then this is a server from which the farm has moved on.
ALTER TABLE supervisor
    ADD COLUMN timeline       bigint NOT NULL DEFAULT 0 CHECK (timeline >= 0),
    ADD COLUMN newer_timeline bigint NOT NULL DEFAULT 0 CHECK (newer_timeline >= 0);
ALTER TABLE restore DROP CONSTRAINT restore_reason_check,
    ADD CONSTRAINT restore_reason_check CHECK (reason IN ('higher-term', 'copy', 'command', 'promotion', 'accepted'));

-- +goose Down
ALTER TABLE restore DROP CONSTRAINT restore_reason_check,
    ADD CONSTRAINT restore_reason_check CHECK (reason IN ('higher-term', 'copy', 'command')) NOT VALID;
ALTER TABLE supervisor DROP COLUMN timeline, DROP COLUMN newer_timeline;
