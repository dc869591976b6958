-- +goose Up

-- Which farm and which database a term belongs to. All four are set by the first term that knows of them.
ALTER TABLE supervisor
    ADD COLUMN farm_key      bytea CHECK (length(farm_key) = 32), -- the farm's public key; only who has the private one leads
    ADD COLUMN lineage       text  CHECK (lineage <> ''),         -- of this database; workers obey one
    ADD COLUMN identity      text  CHECK (identity <> ''),        -- of the server and the database in it: another one is a copy
    ADD COLUMN superseded_by text  CHECK (superseded_by <> '');   -- lineage that hosts obey in place of this one; nobody leads here then

-- Each time that the rows were put back, or copied into another database. Numbers of jobs and attempts begin above the
-- floors afterwards, so that none that a worker or a log folder knows is given again.
CREATE TABLE restore (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            timestamptz NOT NULL,
    reason        text        NOT NULL CHECK (reason IN ('higher-term', 'copy', 'command')), -- how it was noticed
    epoch         bigint      NOT NULL, -- of the rows then
    heard         bigint,               -- higher term that a worker had proof of
    lineage       text        NOT NULL, -- of this database from then on
    predecessor   text,                 -- its lineage before, or the one of that higher term; null: the same
    settled_at    timestamptz,          -- hosts were listened to, items may be given out
    job_floor     bigint,               -- before that at least
    attempt_floor integer,              -- likewise
    CHECK (settled_at IS NULL OR job_floor IS NOT NULL AND attempt_floor IS NOT NULL)
);

-- +goose Down
DROP TABLE restore;
ALTER TABLE supervisor DROP COLUMN farm_key, DROP COLUMN lineage, DROP COLUMN identity, DROP COLUMN superseded_by;
