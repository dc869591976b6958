-- +goose Up

-- The longest lease, grace and margin in microseconds that any answer to a worker may have named, and until when a former, longer
-- promise runs: a later term under other settings waits for it.
ALTER TABLE supervisor
    ADD COLUMN promised_lease  bigint NOT NULL DEFAULT 0 CHECK (promised_lease >= 0),
    ADD COLUMN promised_grace  bigint NOT NULL DEFAULT 0 CHECK (promised_grace >= 0),
    ADD COLUMN promised_margin bigint NOT NULL DEFAULT 0 CHECK (promised_margin >= 0),
    ADD COLUMN promised_until  timestamptz;

-- What was promised until now is not known: the defaults of the settings, at least.
UPDATE supervisor SET promised_lease = 900000000, promised_grace = 10000000, promised_margin = 5000000 WHERE epoch > 0;

-- +goose Down
ALTER TABLE supervisor DROP COLUMN promised_lease, DROP COLUMN promised_grace, DROP COLUMN promised_margin, DROP COLUMN promised_until;
