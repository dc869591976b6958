-- +goose Up

-- Accounts to which users may charge: a path such as show/shot, whose parents are accounts too.
CREATE TABLE account (
    path        text        PRIMARY KEY CHECK (path <> ''),
    users       text[]      NOT NULL, -- members; '*': everybody
    groups      text[]      NOT NULL, -- of users and of the supervisor's machine; their users are members
    default_for text[]      NOT NULL, -- members whose jobs name no account; '*': everybody without a default of his own
    by          text        NOT NULL,
    at          timestamptz NOT NULL
);

-- How accounts are taken where supervisor_accounts says nothing: a farm that has worked before goes on with accounts that
-- anybody may name.
ALTER TABLE supervisor ADD COLUMN accounts text NOT NULL DEFAULT 'listed' CHECK (accounts IN ('listed', 'open'));
UPDATE supervisor SET accounts = 'open' WHERE EXISTS (SELECT FROM job) OR EXISTS (SELECT FROM payer);

-- +goose Down
ALTER TABLE supervisor DROP COLUMN accounts;
DROP TABLE account;
