-- +goose Up

-- Who is told by mail that a job has ended. Empty: nobody, or with the flag mail its owner.
ALTER TABLE job ADD COLUMN mailaddress text[] NOT NULL DEFAULT '{}';

-- A mail to one recipient that waits to be sent: a job has ended. Its row is written with the end, and goes when the mail server has taken the
-- mail or will never do so. It refers to no row of job: that may be removed before.
CREATE TABLE mail (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job          bigint      NOT NULL,
    owner        text        NOT NULL,
    recipient    text        NOT NULL, -- empty: the owner's address, by mail_domain
    name         text        NOT NULL,
    state        text        NOT NULL CHECK (state IN ('complete', 'failed', 'killed')),
    cause        text        NOT NULL,
    complete     integer     NOT NULL,
    failed       integer     NOT NULL,
    killed       integer     NOT NULL,
    items        integer     NOT NULL,
    submitted_at timestamptz NOT NULL,
    ended_at     timestamptz NOT NULL,
    tries        integer     NOT NULL CHECK (tries >= 0),
    due          timestamptz NOT NULL
);

-- +goose Down
DROP TABLE mail;
ALTER TABLE job DROP COLUMN mailaddress;
