-- +goose Up

-- Users that an admin added. Others are users by the socket or by their tokens alone.
CREATE TABLE person (
    name       text        PRIMARY KEY,
    role       text        NOT NULL CHECK (role IN ('read-only', 'user', 'operator', 'admin')),
    groups     text[]      NOT NULL, -- groups of users
    leads      text[]      NOT NULL, -- groups whose members' jobs the user may change
    submit_as  text[]      NOT NULL, -- users for whom the user may submit; '*': all but root, the service's and those who may more than users
    disabled   boolean     NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text        NOT NULL,
    since      timestamptz NOT NULL, -- tokens of the user that were made before this count no more
    seal       bytea       NOT NULL -- MAC over the rest, under the farm's key
);

-- +goose Down
DROP TABLE person;
