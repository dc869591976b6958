-- +goose Up

-- Speed for the charge; 0 is taken as 1, the reference.
ALTER TABLE host ADD COLUMN spec double precision NOT NULL DEFAULT 0;

-- Path in the tree of shares, such as show/shot.
ALTER TABLE job ADD COLUMN account text NOT NULL DEFAULT '';

-- The ledger: what an ended attempt used, in CPU-equivalent seconds; null where it is nothing. Charged: its owner
-- pays it. Together with usage, which is the sum of these decayed to its moment, it is written in the commit that
-- ends the attempt.
ALTER TABLE attempt
    ADD COLUMN charge_cpu     double precision,
    ADD COLUMN charge_ram     double precision,
    ADD COLUMN charge_gpu     double precision,
    ADD COLUMN charge_scratch double precision,
    ADD COLUMN charged        boolean NOT NULL DEFAULT false;

-- What a payer has used, decayed to at: what a term starts from without reading the ledger.
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

-- A place in the tree of shares: ada, show/ for an account, show/ada. What has no row has one share.
CREATE TABLE share (
    path   text             PRIMARY KEY CHECK (path <> ''),
    shares double precision NOT NULL CHECK (shares >= 0),
    by     text             NOT NULL,
    at     timestamptz      NOT NULL
);

-- Credit raises an owner's shares, and decays from its date.
CREATE TABLE credit (
    id       bigint           GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner    text             NOT NULL CHECK (owner <> ''),
    amount   double precision NOT NULL CHECK (amount > 0),
    source   text             NOT NULL,
    date     timestamptz      NOT NULL,
    by       text             NOT NULL,
    added_at timestamptz      NOT NULL
);

-- +goose Down
DROP TABLE credit, share, usage;
ALTER TABLE attempt DROP COLUMN charge_cpu, DROP COLUMN charge_ram, DROP COLUMN charge_gpu,
    DROP COLUMN charge_scratch, DROP COLUMN charged;
ALTER TABLE job DROP COLUMN account;
ALTER TABLE host DROP COLUMN spec;
