-- +goose Up

-- What was answered to changes that carried an Idempotency-Key, each written in the commit of its change: a call that
-- is repeated hears it again from any later leader and changes nothing. The oldest go when they are a day old, or when
-- more than 10,000 places follow them; an answer of more than 16 kB takes several.
CREATE TABLE answer (
    owner text        NOT NULL, -- whose call it was
    key   text        NOT NULL CHECK (key <> ''),
    hash  bytea       NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the request
    body  text        NOT NULL, -- JSON
    at    timestamptz NOT NULL,
    place bigint      NOT NULL UNIQUE,
    PRIMARY KEY (owner, key)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

-- +goose Down
DROP TABLE answer;
