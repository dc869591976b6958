-- +goose Up

-- A row of usage for each payer cost each commit more than anything else fairshare did. The rows are now those of
-- payer, as of some commit; what commits have made of payers since is one row of usage_news each, with an array
-- element a payer; and usage is the two together, at every moment.
ALTER TABLE usage RENAME TO payer;
ALTER TABLE payer RENAME CONSTRAINT usage_pkey TO payer_pkey;
ALTER TABLE payer ADD COLUMN id integer GENERATED ALWAYS AS IDENTITY;
ALTER TABLE payer ALTER COLUMN id DROP IDENTITY, ADD CONSTRAINT payer_id UNIQUE (id);

-- Null: nothing of that resource. Checks would cost more than the rest of an insert; payer has them.
-- The rows of many commits are taken over at once and deleted; unless they are long they lie in the table itself,
-- uncompressed.
CREATE TABLE usage_news (
    id      bigint             GENERATED ALWAYS AS IDENTITY, -- rises with each commit
    payer   integer[]          NOT NULL,
    cpu     double precision[],
    ram     double precision[],
    gpu     double precision[],
    scratch double precision[],
    at      timestamptz[]      NOT NULL
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE usage_news
    ALTER payer SET STORAGE MAIN, ALTER cpu SET STORAGE MAIN, ALTER ram SET STORAGE MAIN, ALTER gpu SET STORAGE MAIN,
    ALTER scratch SET STORAGE MAIN, ALTER at SET STORAGE MAIN;

-- What a payer has used, decayed to at.
CREATE VIEW usage AS
    SELECT p.account, p.owner,
        CASE WHEN n.payer IS NULL THEN p.cpu ELSE coalesce(n.cpu, 0) END AS cpu,
        CASE WHEN n.payer IS NULL THEN p.ram ELSE coalesce(n.ram, 0) END AS ram,
        CASE WHEN n.payer IS NULL THEN p.gpu ELSE coalesce(n.gpu, 0) END AS gpu,
        CASE WHEN n.payer IS NULL THEN p.scratch ELSE coalesce(n.scratch, 0) END AS scratch,
        coalesce(n.at, p.at) AS at
    FROM payer p LEFT JOIN (
        SELECT DISTINCT ON (u.payer) u.payer, u.cpu, u.ram, u.gpu, u.scratch, u.at
        FROM usage_news s CROSS JOIN LATERAL unnest(s.payer, s.cpu, s.ram, s.gpu, s.scratch, s.at)
            AS u(payer, cpu, ram, gpu, scratch, at)
        ORDER BY u.payer, s.id DESC) n ON n.payer = p.id;

-- +goose Down
CREATE TABLE kept AS SELECT account, owner, cpu, ram, gpu, scratch, at FROM usage;
DROP VIEW usage;
DROP TABLE usage_news, payer;
CREATE TABLE usage (
    account text             NOT NULL,
    owner   text             NOT NULL,
    cpu     double precision NOT NULL CHECK (cpu >= 0),
    ram     double precision NOT NULL CHECK (ram >= 0),
    gpu     double precision NOT NULL CHECK (gpu >= 0),
    scratch double precision NOT NULL CHECK (scratch >= 0),
    at      timestamptz      NOT NULL,
    PRIMARY KEY (account, owner)
) WITH (fillfactor = 50);
INSERT INTO usage (account, owner, cpu, ram, gpu, scratch, at) SELECT account, owner, cpu, ram, gpu, scratch, at FROM kept;
DROP TABLE kept;
