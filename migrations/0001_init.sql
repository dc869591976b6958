-- Facts only: what can be recomputed has no column. A pending item has no row. Only the leader writes, but for
-- tokens; reading by SQL is welcome at any time.

-- +goose Up

-- The one row that fences leaders: every commit of a term needs its epoch here.
CREATE TABLE supervisor (
    one        boolean     PRIMARY KEY DEFAULT true CHECK (one),
    epoch      bigint      NOT NULL CHECK (epoch >= 0),
    leader     text        NOT NULL,
    since      timestamptz NOT NULL,
    checked_at timestamptz NOT NULL
) WITH (fillfactor = 10);
INSERT INTO supervisor (epoch, leader, since, checked_at) VALUES (0, '', clock_timestamp(), clock_timestamp());

-- A submission.
CREATE TABLE job (
    id           bigint      PRIMARY KEY CHECK (id >= 1),
    submission   text        UNIQUE, -- the client's token: a repeated submission is the same job
    version      bigint      NOT NULL CHECK (version >= 1),
    name         text        NOT NULL,
    owner        text        NOT NULL,
    priority     bigint      NOT NULL CHECK (priority >= 1),
    cluster      text        NOT NULL,
    cpus         bigint      NOT NULL CHECK (cpus >= 1),
    max_cpus     bigint,               -- as given; null: the site's default
    agenda       jsonb       NOT NULL, -- as given, never expanded
    retrywork    bigint      NOT NULL CHECK (retrywork >= 0),
    dependency   text        NOT NULL, -- as given
    wait_for     jsonb       NOT NULL, -- what is left of it
    state        text        NOT NULL CHECK (state IN ('active', 'blocked', 'suspended', 'complete', 'failed', 'killed')),
    blocked_by   text        NOT NULL,
    command      text[]      NOT NULL,
    shell        boolean     NOT NULL,
    cwd          text        NOT NULL,
    env          jsonb       NOT NULL,
    umask        bigint,
    pgrp         bigint      NOT NULL,
    hosts        text[]      NOT NULL,
    omit_hosts   text[]      NOT NULL,
    groups       text[]      NOT NULL,
    omit_groups  text[]      NOT NULL,
    requirements text        NOT NULL,
    reservations text        NOT NULL,
    flags        text[]      NOT NULL,
    submitted_at timestamptz NOT NULL,
    finished_at  timestamptz,
    CONSTRAINT job_finished_exactly_if_final
        CHECK ((finished_at IS NOT NULL) = (state IN ('complete', 'failed', 'killed')))
) WITH (fillfactor = 80);
-- What a term starts from, however many jobs have ended.
CREATE INDEX job_not_final ON job (id) WHERE state IN ('active', 'blocked', 'suspended');
CREATE INDEX job_owner ON job (owner, id);

-- One try at one item. Rows are never removed; an end never changes but by a user's order to redo. A foreign key to
-- job would cost as much as the rest of an insert; the inserting statement looks the job up instead, jobs are never
-- removed, and qb audit checks it.
CREATE TABLE attempt (
    job        bigint      NOT NULL,
    item       integer     NOT NULL CHECK (item >= 0),   -- from 0, in agenda order
    number     integer     NOT NULL CHECK (number >= 1), -- without gap
    again      smallint    NOT NULL, -- 0 final, 1 put back by itself, 2 by a user's order
    state      text        NOT NULL,
    kind       text        NOT NULL CHECK (kind IN ('primary', 'secondary')),
    host       text        NOT NULL,
    boot       text        NOT NULL, -- of the host, when it was given
    state_id   text        NOT NULL, -- of the agent's state folder, when it was given
    instance   bigint      NOT NULL,
    owner      text        NOT NULL,
    slots      bigint      NOT NULL,
    memory     bigint      NOT NULL, -- bytes held
    holds      jsonb,                -- other resources held, and the devices; null: none
    cause      text        NOT NULL,
    exit_code  bigint,
    signal     bigint,
    wall       double precision NOT NULL, -- seconds
    cpu        double precision NOT NULL, -- seconds
    peak       bigint      NOT NULL, -- bytes
    started_at timestamptz NOT NULL,
    ended_at   timestamptz,
    PRIMARY KEY (job, item, number),
    CONSTRAINT attempt_state CHECK (
        (state IN ('running', 'stopping', 'done') AND again = 0)
        OR (state IN ('failed', 'killed', 'preempted', 'lost') AND again IN (0, 1, 2))
        OR (state = 'superseded' AND again = 2)),
    CONSTRAINT attempt_ended_exactly_if_not_live
        CHECK ((ended_at IS NULL) = (state IN ('running', 'stopping'))),
    CONSTRAINT attempt_result_only_of_an_end
        CHECK (ended_at IS NOT NULL OR (exit_code IS NULL AND signal IS NULL)),
    CONSTRAINT attempt_times CHECK (ended_at >= started_at)
-- Half of a page stays free for the second version that each row gets.
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- This forbids double counting: an item has at most one attempt that stands, that is one that is live, done or ended
-- for good. It names no column that an ordinary end changes, so that ends touch no index at all.
CREATE UNIQUE INDEX attempt_one_stands ON attempt (job, item) WHERE again = 0;

-- An order on items that is no attempt. The marks of a job do not overlap.
CREATE TABLE item_mark (
    job    bigint      NOT NULL REFERENCES job (id),
    first  integer     NOT NULL CHECK (first >= 0),
    last   integer     NOT NULL,
    kind   text        NOT NULL CHECK (kind IN ('killed', 'blocked', 'complete')),
    by     text        NOT NULL,
    at     timestamptz NOT NULL,
    PRIMARY KEY (job, first),
    CHECK (first <= last)
);

-- A known worker.
CREATE TABLE host (
    id          text        PRIMARY KEY CHECK (id <> ''),
    machine_id  text        NOT NULL,
    boot        text        NOT NULL,
    state_id    text        NOT NULL,
    slots       bigint      NOT NULL,
    memory      bigint      NOT NULL, -- bytes
    cluster     text        NOT NULL,
    groups      text[]      NOT NULL,
    properties  jsonb       NOT NULL,
    resources   jsonb       NOT NULL,
    locked_by   text        NOT NULL, -- '' if not locked
    lock_reason text        NOT NULL,
    seen_at     timestamptz NOT NULL
);

-- Orders, promotions, preemptions, locks and terms; never an item's start or end, which the attempts tell.
CREATE TABLE event (
    id       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    epoch    bigint      NOT NULL, -- of the term that wrote it
    at       timestamptz NOT NULL,
    type     text        NOT NULL CHECK (type <> ''),
    job      bigint,
    item     integer,
    instance bigint,
    host     text        NOT NULL,
    by       text        NOT NULL,
    cause    text        NOT NULL
);
CREATE INDEX event_job ON event (job, id) WHERE job IS NOT NULL;

-- A credential, without its secret.
CREATE TABLE token (
    id         text        PRIMARY KEY CHECK (id <> ''),
    hash       bytea       NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the secret
    owner      text        NOT NULL,
    role       text        NOT NULL CHECK (role IN ('admin', 'operator', 'user', 'read-only', 'worker')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    last_used  timestamptz,
    revoked    boolean     NOT NULL DEFAULT false
);

-- +goose Down
DROP TABLE token, event, host, item_mark, attempt, job, supervisor;
