-- +goose Up

-- What a place in the tree of shares may use: ada, show/ or show/ada. In CPU-equivalent seconds.
CREATE TABLE budget (
    path   text             PRIMARY KEY CHECK (path <> ''),
    amount double precision NOT NULL CHECK (amount > 0),
    period bigint           NOT NULL CHECK (period >= 0), -- seconds; 0: it holds for decayed usage
    beyond text             NOT NULL CHECK (beyond IN ('wait', 'idle')), -- what jobs over it do
    since  timestamptz      NOT NULL, -- begin of the period …
    used   double precision NOT NULL CHECK (used >= 0), -- … and what ended attempts have used in it
    by     text             NOT NULL,
    at     timestamptz      NOT NULL
);

-- What users report as published, and what became of that.
CREATE TABLE publication (
    source text        PRIMARY KEY CHECK (source <> ''), -- in the form in which sources are compared
    owner  text        NOT NULL CHECK (owner <> ''),
    date   timestamptz NOT NULL,
    state  text        NOT NULL CHECK (state IN ('reported', 'accepted', 'rejected')),
    by     text        NOT NULL, -- whose word the state is
    at     timestamptz NOT NULL
);

-- +goose Down
DROP TABLE publication, budget;
