-- The schema of qb, and the documentation of its tables.
--
-- Until the first release this file is edited in place: no farm has older rows that would have to be converted. From
-- the first release on it never changes; each change is then a numbered file of its own (CONTRIBUTING.md).
--
-- The tables hold facts only. What can be computed from other rows has no column, and an item that has not started has
-- no row. Only supervisors write; reading by SQL is welcome at any time. In all tables:
--   by           the user who made the change
--   at           when it was made
--   memory       in bytes
--   durations    in seconds, where the column does not say otherwise
--   job          number of a job; a foreign key exists only where its price on each commit is small
--   reason       a code from docs/codes.md, params its parameters; cause is the sentence made of them, for people

-- +goose Up

---------------------------------------------------------------------------------------------------------------------
-- The farm and its leader
---------------------------------------------------------------------------------------------------------------------

-- The one row that fences leaders: every commit of a term requires that the term's epoch is still here.
CREATE TABLE supervisor (
    one             boolean     PRIMARY KEY DEFAULT true CHECK (one),
    epoch           bigint      NOT NULL CHECK (epoch >= 0), -- number of the latest term
    leader          text        NOT NULL,                    -- name and address of the supervisor that leads
    since           timestamptz NOT NULL,                    -- begin of the term
    checked_at      timestamptz NOT NULL,                    -- when the leader last proved that it leads

    -- Which farm and which database a term belongs to. All four are null until the first term sets them.
    farm_key        bytea CHECK (length(farm_key) = 32),     -- public key; only the owner of the private key leads
    lineage         text  CHECK (lineage <> ''),             -- of this database; a worker obeys one lineage
    identity        text  CHECK (identity <> ''),            -- of the server and its database; a copy has another
    superseded_by   text  CHECK (superseded_by <> ''),       -- lineage that hosts obey instead; no leader is possible

    -- The latest terms, each as its number and its begin in microseconds. A host that has obeyed another term of the
    -- same number proves that the rows were restored from a backup since.
    terms           bigint[]    NOT NULL DEFAULT '{}',

    -- The longest lease, grace and margin, in microseconds, that any answer to a worker may have named. A term with
    -- shorter settings waits until promised_until, when a former, longer promise has expired.
    promised_lease  bigint      NOT NULL DEFAULT 0 CHECK (promised_lease >= 0),
    promised_grace  bigint      NOT NULL DEFAULT 0 CHECK (promised_grace >= 0),
    promised_margin bigint      NOT NULL DEFAULT 0 CHECK (promised_margin >= 0),
    promised_until  timestamptz,

    -- The timeline of Postgres on which the last term began; it rises with each promotion of a replica. 0: not known.
    -- If a host has obeyed a higher one, the farm has moved to another server and this one is out of date.
    timeline        bigint      NOT NULL DEFAULT 0 CHECK (timeline >= 0),
    newer_timeline  bigint      NOT NULL DEFAULT 0 CHECK (newer_timeline >= 0)
) WITH (fillfactor = 10); -- the row changes every few seconds: its versions stay on one page
INSERT INTO supervisor (epoch, leader, since, checked_at) VALUES (0, '', clock_timestamp(), clock_timestamp());

-- Each time that the database was restored from a backup, copied, or replaced by a replica. Numbers of jobs and
-- attempts begin above the floors afterwards, so that no number that a worker or a log folder knows is used twice.
CREATE TABLE restore (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at            timestamptz NOT NULL,
    reason        text        NOT NULL -- how it was noticed
                  CHECK (reason IN ('higher-term', 'copy', 'command', 'promotion', 'accepted')),
    epoch         bigint      NOT NULL, -- of the restored rows
    heard         bigint,               -- higher term of which a worker had proof
    lineage       text        NOT NULL, -- of this database afterwards
    predecessor   text,                 -- its lineage before, or that of the higher term; null: the same
    settled_at    timestamptz,          -- all hosts were heard or waited for; from then on items are started
    job_floor     bigint,               -- highest number of a job that may be in use
    attempt_floor integer,              -- highest number of an attempt that may be in use
    CHECK (settled_at IS NULL OR job_floor IS NOT NULL AND attempt_floor IS NOT NULL)
);

-- Events that broke the farm's state and so ended a term. After several times such an event is refused for a while.
-- Rows are deleted after two days.
CREATE TABLE breakage (
    kind  text        NOT NULL CHECK (kind <> ''), -- of the event
    host  text        NOT NULL,                    -- whose report it was; '': no host's
    job   bigint      NOT NULL,                    -- that it was about; 0: none
    owner text        NOT NULL,                    -- whose change it was; '': no user's
    times integer     NOT NULL CHECK (times > 0),
    at    timestamptz NOT NULL,                    -- the last time
    cause text        NOT NULL,
    PRIMARY KEY (kind, host, job, owner)
);

---------------------------------------------------------------------------------------------------------------------
-- Jobs and items
---------------------------------------------------------------------------------------------------------------------

-- A submission. Columns with a default of '', 0 or '{}' hold that where the submission did not name them.
CREATE TABLE job (
    id                 bigint      PRIMARY KEY CHECK (id >= 1),
    submission         text        UNIQUE, -- the client's token: a repeated submission is the same job
    version            bigint      NOT NULL CHECK (version >= 1), -- rises with each change of the job; its ETag
    bytes              bigint      NOT NULL CHECK (bytes >= 0),   -- what its texts take; limited for each owner

    -- Who and what it is
    name               text        NOT NULL,
    owner              text        NOT NULL,
    -- The owner's uid on the supervisor's machine, if its kernel named it at the submission. Workers compare it with
    -- that of the same name on their host.
    owner_uid          bigint      CHECK (owner_uid BETWEEN 0 AND 4294967295),
    label              text        NOT NULL DEFAULT '', -- name within its process group, for dependencies
    pgrp               bigint      NOT NULL,            -- process group: jobs that belong together
    pid                bigint      NOT NULL DEFAULT 0 CHECK (pid >= 0), -- job that it belongs to; 0: none
    kind               text        NOT NULL DEFAULT '', -- common to jobs of a sort, for filters and requirements
    type               text        NOT NULL DEFAULT '', -- as given: '', cmdline, cmdrange, loadonce
    system             text        NOT NULL DEFAULT '', -- whose paths and programs it has: linux, darwin, windows, any
    notes              text        NOT NULL DEFAULT '', -- for people
    tags               jsonb       NOT NULL DEFAULT '{}', -- for reports, such as {"prod_show": "heron"}
    security           text        NOT NULL DEFAULT '', -- what others than the owner may do, such as
                                                        -- group=vmk,others=v; '': as the farm's settings say

    -- What runs
    command            text[]      NOT NULL,
    shell              boolean     NOT NULL, -- the command is one line for a shell
    cwd                text        NOT NULL,
    env                jsonb       NOT NULL,
    umask              bigint,
    agenda             jsonb       NOT NULL, -- as given, never expanded. named: items are divided until their ends and
                                             -- step name them
    preflights         text[]      NOT NULL DEFAULT '{}', -- commands before the first item of an instance
    postflights        text[]      NOT NULL DEFAULT '{}', -- commands after the last item of an instance
    agenda_preflights  text[]      NOT NULL DEFAULT '{}', -- commands before each item
    agenda_postflights text[]      NOT NULL DEFAULT '{}', -- commands after each item
    validate           text[]      NOT NULL DEFAULT '{}', -- files that must exist after an item
    pathmap            text[]      NOT NULL DEFAULT '{}', -- FROM=TO: paths of the submitter as those of the hosts
    -- Regular expressions for the output of items, one on each line
    regex_progress     text        NOT NULL DEFAULT '', -- how far an item is
    regex_errors       text        NOT NULL DEFAULT '', -- it has failed
    regex_highlights   text        NOT NULL DEFAULT '', -- lines that are kept with the attempt (attempt_found)
    regex_outputpaths  text        NOT NULL DEFAULT '', -- paths of files that it has written

    -- When and how often
    state              text        NOT NULL
                       CHECK (state IN ('active', 'blocked', 'suspended', 'complete', 'failed', 'killed')),
    blocked_by         text        NOT NULL, -- the user who blocked it; '': nobody
    submitted_at       timestamptz NOT NULL,
    finished_at        timestamptz,
    start_at           text        NOT NULL DEFAULT '', -- RFC 3339 in UTC: nothing starts before; '': at once
    dependency         text        NOT NULL, -- as given
    wait_for           jsonb       NOT NULL, -- the conditions of it that are not fulfilled yet
    timelimit          bigint      NOT NULL DEFAULT 0 CHECK (timelimit >= 0),        -- an instance is ended; 0: never
    agenda_timelimit   bigint      NOT NULL DEFAULT 0 CHECK (agenda_timelimit >= 0), -- an item is ended and fails
    timeout            bigint      NOT NULL DEFAULT 0 CHECK (timeout >= 0),          -- an instance is reported; 0: never
    agenda_timeout     bigint      NOT NULL DEFAULT 0 CHECK (agenda_timeout >= 0),   -- an item is reported
    time_estimate      bigint      NOT NULL DEFAULT 0 CHECK (time_estimate >= 0),    -- of an item, as stated; 0: none
    retrywork          bigint      NOT NULL CHECK (retrywork >= 0),                  -- how often an item is retried
    retrywork_delay    bigint      NOT NULL DEFAULT 0 CHECK (retrywork_delay >= 0),  -- seconds before that
    retrysubjob        integer     NOT NULL DEFAULT 0 CHECK (retrysubjob >= 0),      -- how often an instance is retried
    mailaddress        text[]      NOT NULL DEFAULT '{}', -- who gets a mail at the end; {}: with flag mail its owner

    -- Where, and how much of the farm
    priority           bigint      NOT NULL CHECK (priority >= 1), -- 1 is the best
    operator_priority  integer     NOT NULL DEFAULT 0,  -- last priority from an operator or admin; 0: none. It counts
                                                        -- for the whole farm, the owner's only among the owner's jobs
    global_order       bigint      NOT NULL DEFAULT 0,  -- order by hand among the unfinished jobs of a cluster and
                                                        -- priority: the least first
    local_order        bigint      NOT NULL DEFAULT 0,  -- job of the same owner whose turn it has; 0: its own
    cluster            text        NOT NULL,
    account            text        NOT NULL DEFAULT '', -- that its usage is charged to, such as show/shot
    cpus               bigint      NOT NULL CHECK (cpus >= 1), -- primary instances
    max_cpus           bigint,                          -- instances at most, as given; null: the site's default
    hosts              text[]      NOT NULL,            -- where it may run; {}: everywhere
    omit_hosts         text[]      NOT NULL,            -- where it may not
    groups             text[]      NOT NULL,            -- the same for groups of hosts
    omit_groups        text[]      NOT NULL,
    requirements       text        NOT NULL,            -- as given: conditions on a host
    reservations       text        NOT NULL,            -- as given: slots, memory and resources of an instance
    restrictions       text        NOT NULL DEFAULT '', -- as given: patterns of clusters, such as /show/* || /x/+
    host_order         text        NOT NULL DEFAULT '', -- as given: which of several suitable hosts are preferred
    flags              text[]      NOT NULL,
    profile            text        NOT NULL DEFAULT '', -- of its owner's profiles; '': none

    -- Of a submission that became several jobs (preview items and the others, or one for each host)
    p_agenda           text        NOT NULL DEFAULT '', -- the preview items, with their priority and instances
    p_agenda_priority  bigint      NOT NULL DEFAULT 0,
    p_agenda_cpus      bigint      NOT NULL DEFAULT 0,
    -- In the job that was made last: the others, and what the submission asked for. In those: {"part": true}. Null:
    -- the submission is this job.
    division           jsonb,

    -- What is kept of attempts that have become daily sums (usage_day). Their items' ends are marks (item_mark) then.
    compacted          bigint      CHECK (compacted >= 0),    -- how many; null: none, so the job can be retried
    compacted_at       timestamptz,                           -- the last time
    first_start        timestamptz,                           -- of the first of them
    failed_attempts    bigint      NOT NULL DEFAULT 0,        -- how many failed
    done_count         bigint      NOT NULL DEFAULT 0,        -- how many were done,
    done_wall          double precision NOT NULL DEFAULT 0,   -- and their seconds together
    peaks_returned     bigint      NOT NULL DEFAULT 0,        -- how many that were done had a peak of memory
    peak_returned      bigint      NOT NULL DEFAULT 0,        -- the largest of those
    peak_largest       bigint      NOT NULL DEFAULT 0,        -- the largest of all
    ran_out            bigint      NOT NULL DEFAULT 0,        -- items that ended because memory was not enough
    ran_out_at         bigint      NOT NULL DEFAULT 0,        -- the most memory that was not enough
    logs_removed_at    timestamptz,                           -- output is in files; those of earlier ends are removed

    CONSTRAINT job_finished_exactly_if_final
        CHECK ((finished_at IS NOT NULL) = (state IN ('complete', 'failed', 'killed'))),
    CONSTRAINT job_compacted_only_if_final CHECK (compacted IS NULL OR finished_at IS NOT NULL),
    CONSTRAINT job_compacted_at_of_compacted CHECK (compacted_at IS NULL OR compacted IS NOT NULL)
) WITH (fillfactor = 80);
-- What a term starts from, however many jobs have ended.
CREATE INDEX job_not_final ON job (id) WHERE state IN ('active', 'blocked', 'suspended');
-- Filters of lists, and the limit of an owner's bytes. Collation "C" orders a cluster before those below it.
CREATE INDEX job_owner ON job (owner, id) INCLUDE (bytes);
CREATE INDEX job_name ON job (name, id);
CREATE INDEX job_cluster ON job (cluster COLLATE "C", id);
CREATE INDEX job_tags ON job USING gin (tags jsonb_path_ops) WHERE tags <> '{}';
-- Dependencies on a label, before or after the job with that label is submitted.
CREATE INDEX job_label ON job (pgrp, label) WHERE label <> '';
-- What retention works on next, without reading what it has done.
CREATE INDEX job_finished ON job (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX job_to_compact ON job (finished_at, id) WHERE finished_at IS NOT NULL AND compacted_at IS NULL;
CREATE INDEX job_with_logs ON job (finished_at, id)
    WHERE finished_at IS NOT NULL AND (logs_removed_at IS NULL OR logs_removed_at < finished_at);

-- When a job last changed, to the second. A separate table: the row of a job is wide and has many indices, and each
-- change would write all of them.
CREATE TABLE job_change (
    job        bigint      PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    changed_at timestamptz NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX job_change_at ON job_change (changed_at);

-- One try at one item. An end changes only when a user orders the item to be redone; rows are removed only when they
-- have become daily sums. A foreign key to job would cost as much as the rest of an insert: the inserting statement
-- looks the job up instead, and qb audit checks it.
--
-- Columns that an end changes come first, the others last: of a changed row Postgres logs what lies
-- between the first and the last byte that differ.
CREATE TABLE attempt (
    job            bigint      NOT NULL,
    item           integer     NOT NULL CHECK (item >= 0),   -- from 0, in agenda order
    number         integer     NOT NULL CHECK (number >= 1), -- from 1, without a gap
    again          smallint    NOT NULL, -- does the item run again? 0: no, 1: by itself, 2: by a user's order
    charged        boolean     NOT NULL DEFAULT false, -- the owner pays for it
    started_at     timestamptz NOT NULL,
    ended_at       timestamptz,
    wall           double precision NOT NULL, -- seconds
    cpu            double precision NOT NULL, -- seconds
    peak           bigint      NOT NULL,      -- of memory
    exit_code      bigint,
    signal         bigint,
    -- What it used, in CPU-equivalent seconds; null: nothing. Written with the end, in the commit that adds it to the
    -- usage of its payer (payer, usage_news), which is the decayed sum of these.
    charge_cpu     double precision,
    charge_ram     double precision,
    charge_gpu     double precision,
    charge_scratch double precision,
    state          text        NOT NULL,
    cause          text        NOT NULL, -- why it stops or has ended
    reason         text        NOT NULL DEFAULT '',
    params         jsonb,
    suspended_at   timestamptz, -- its processes are frozen by an order since then
    suspended      double precision NOT NULL DEFAULT 0 CHECK (suspended >= 0), -- seconds frozen before that
    released_at    timestamptz, -- its slots are free for others since then (supervisor_suspend_slots)
    released       double precision NOT NULL DEFAULT 0 CHECK (released >= 0),  -- seconds released before that
    resuming_at    timestamptz, -- it waits for slots to continue since then
    instance       bigint      NOT NULL,
    slots          bigint      NOT NULL,
    memory         bigint      NOT NULL, -- reserved
    kind           text        NOT NULL CHECK (kind IN ('primary', 'secondary')),
    host           text        NOT NULL,
    owner          text        NOT NULL,
    holds          jsonb,                -- other reserved resources, and the devices; null: none
    boot           text        NOT NULL, -- of the host, at the start
    state_id       text        NOT NULL, -- of the agent's state folder, at the start
    -- It was given ahead, while its instance still had this attempt, and begins after that.
    behind_item    integer,
    behind_number  integer,
    PRIMARY KEY (job, item, number),
    CONSTRAINT attempt_state CHECK (
        (state IN ('running', 'stopping', 'done') AND again = 0)
        OR (state IN ('failed', 'killed', 'preempted', 'lost') AND again IN (0, 1, 2))
        OR (state = 'superseded' AND again = 2)),
    CONSTRAINT attempt_ended_exactly_if_not_live
        CHECK ((ended_at IS NULL) = (state IN ('running', 'stopping'))),
    CONSTRAINT attempt_result_only_of_an_end
        CHECK (ended_at IS NOT NULL OR (exit_code IS NULL AND signal IS NULL)),
    CONSTRAINT attempt_times CHECK (ended_at >= started_at),
    CONSTRAINT attempt_has_reason
        CHECK (reason <> '' OR cause = '' AND state IN ('running', 'done', 'superseded')),
    CONSTRAINT attempt_suspension CHECK ((released_at IS NULL OR suspended_at IS NOT NULL)
        AND (resuming_at IS NULL OR released_at IS NOT NULL))
-- Half of a page stays free for the second version that each row gets.
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
-- Forbids double counting: an item has at most one attempt that is live, done or failed for good. The index names no
-- column that an ordinary end changes, so ends write to no index.
CREATE UNIQUE INDEX attempt_one_stands ON attempt (job, item) WHERE again = 0;

-- What a job's expressions found in the output of an attempt. Few attempts have such a row; a new leader reads none.
-- Rows go in the statement that removes their attempts. A foreign key would look for one at each removal of an attempt,
-- which cost more than all else of it.
CREATE TABLE attempt_found (
    job         bigint  NOT NULL,
    item        integer NOT NULL,
    number      integer NOT NULL,
    highlights  text[]  NOT NULL, -- lines
    outputpaths text[]  NOT NULL, -- files that it has written
    result      text    NOT NULL, -- JSON that the program of a load-once job reported; '': none
    PRIMARY KEY (job, item, number)
);

-- A range of items that do not run, without an attempt: first, first + step and so on to last, so that an order on
-- every second item is one row. The marks of a job do not overlap.
CREATE TABLE item_mark (
    job   bigint      NOT NULL REFERENCES job (id),
    first integer     NOT NULL CHECK (first >= 0),
    last  integer     NOT NULL,
    step  integer     NOT NULL DEFAULT 1,
    kind  text        NOT NULL CHECK (kind IN ('killed', 'blocked', 'complete', 'failed')),
    by    text        NOT NULL,
    at    timestamptz NOT NULL,
    PRIMARY KEY (job, first),
    CHECK (first <= last),
    CONSTRAINT item_mark_step_check CHECK (step >= 1 AND (last - first) % step = 0)
);

-- An order that takes more than one commit, or waits for such an order; deleted when it is carried out.
CREATE TABLE item_order (
    job      bigint      NOT NULL REFERENCES job (id),
    number   bigint      NOT NULL, -- rises with each order on the job
    action   text        NOT NULL CHECK (action IN ('kill', 'retry', 'requeue', 'redo', 'block', 'unblock', 'interrupt',
             'preempt', 'complete', 'fail', 'suspend', 'resume', 'migrate', 'retire')),
    items    jsonb,                -- [[first, last, step], ...]; null: all
    by       text        NOT NULL,
    at       timestamptz NOT NULL,
    begun_at timestamptz,          -- null: it waits for those before it
    next     integer     NOT NULL CHECK (next >= 0), -- all items below it are done
    affected bigint      NOT NULL, -- items that it is about
    done     bigint      NOT NULL CHECK (done BETWEEN 0 AND affected),
    PRIMARY KEY (job, number)
);

-- What ended jobs have taught of the memory and time of items, for the next job of the same profile.
CREATE TABLE profile (
    owner         text             NOT NULL CHECK (owner <> ''),
    name          text             NOT NULL CHECK (name <> ''),
    lessons       jsonb            NOT NULL -- of the latest jobs: [{"job", "ended_at", "items", "memory", "seconds"}]
                  CHECK (jsonb_typeof(lessons) = 'array' AND jsonb_array_length(lessons) <= 8),
    memory        bigint           NOT NULL CHECK (memory >= 0),  -- set by a person; 0: not set
    memory_after  bigint           NOT NULL,                      -- only later jobs teach memory
    seconds       double precision NOT NULL CHECK (seconds >= 0), -- set by a person; 0: not set
    seconds_after bigint           NOT NULL,                      -- only later jobs teach time
    by            text             NOT NULL,
    at            timestamptz      NOT NULL, -- when a job of it ended last, or a person changed it
    PRIMARY KEY (owner, name)
) WITH (fillfactor = 50);

-- A mail about an ended job that is not sent yet, to one recipient. Written with the end; deleted when the mail server
-- has accepted it or never will. No foreign key: the job may be removed before.
CREATE TABLE mail (
    id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job          bigint      NOT NULL,
    owner        text        NOT NULL,
    recipient    text        NOT NULL, -- '': the owner's address, by mail_domain
    name         text        NOT NULL, -- of the job, as all below
    state        text        NOT NULL CHECK (state IN ('complete', 'failed', 'killed')),
    cause        text        NOT NULL,
    complete     integer     NOT NULL, -- items
    failed       integer     NOT NULL,
    killed       integer     NOT NULL,
    items        integer     NOT NULL, -- all of them
    submitted_at timestamptz NOT NULL,
    ended_at     timestamptz NOT NULL,
    tries        integer     NOT NULL CHECK (tries >= 0),
    due          timestamptz NOT NULL  -- time of the next try
);

---------------------------------------------------------------------------------------------------------------------
-- Hosts and resources
---------------------------------------------------------------------------------------------------------------------

-- A known worker.
CREATE TABLE host (
    id           text        PRIMARY KEY CHECK (id <> ''), -- its name
    key          text        NOT NULL DEFAULT '', -- public key of the worker's state folder, in hex: identifies the host,
                                                  -- whatever its name; '': not enrolled yet
    machine_id   text        NOT NULL,
    boot         text        NOT NULL,
    state_id     text        NOT NULL, -- of the agent's state folder
    slots        bigint      NOT NULL,
    memory       bigint      NOT NULL,
    spec         double precision NOT NULL DEFAULT 0, -- speed, for the charge; 0 counts as 1, the reference
    cluster      text        NOT NULL,
    groups       text[]      NOT NULL,
    properties   jsonb       NOT NULL,
    resources    jsonb       NOT NULL,
    locked_by    text        NOT NULL, -- '': not locked
    lock_reason  text        NOT NULL,
    locked_slots integer     NOT NULL DEFAULT 0 CHECK (locked_slots >= 0), -- of a locked host; 0: all of them
    seen_at      timestamptz NOT NULL
);

-- A resource of the whole farm, such as licences; how many there are by qb.conf is not here.
CREATE TABLE resource (
    name          text             PRIMARY KEY CHECK (name <> ''),
    total         bigint           NOT NULL, -- by the last report; negative: it did not say
    outside       bigint           NOT NULL CHECK (outside >= 0), -- used by others than the farm, by that report
    by            text             NOT NULL, -- who reported
    reported_at   timestamptz,
    lowered       bigint           NOT NULL, -- limit after items found none; negative: no such limit
    lowered_until timestamptz,
    wait          double precision NOT NULL CHECK (wait >= 0), -- seconds for which that limit was set
    probed        boolean          NOT NULL  -- the farm has tried one more since
) WITH (fillfactor = 50);

---------------------------------------------------------------------------------------------------------------------
-- Users and credentials
---------------------------------------------------------------------------------------------------------------------

-- Users that an admin added. All others are known only by the unix socket or by their tokens.
CREATE TABLE person (
    name       text        PRIMARY KEY,
    role       text        NOT NULL CHECK (role IN ('read-only', 'user', 'operator', 'admin')),
    rights     text[],               -- null: those of the role
    groups     text[]      NOT NULL, -- groups of users
    leads      text[]      NOT NULL, -- groups whose members' jobs the user may change
    submit_as  text[]      NOT NULL, -- users for whom the user may submit. '*': all except root, the service's account
                                     -- and users with more rights
    disabled   boolean     NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text        NOT NULL,
    since      timestamptz NOT NULL, -- tokens of the user that were made before are invalid
    seal       bytea       NOT NULL  -- MAC of the row by the farm's key: who can write the database cannot make a user
);

-- A credential. Neither its secret nor a hash of it is here.
CREATE TABLE token (
    id         text        PRIMARY KEY CHECK (id <> ''),
    mac        bytea       NOT NULL CHECK (length(mac) = 32), -- MAC of the secret by the farm's key
    owner      text        NOT NULL,
    role       text        NOT NULL CHECK (role IN ('admin', 'operator', 'user', 'read-only', 'worker')),
    name       text        NOT NULL DEFAULT '', -- of a login: user and workstation. Valid while its user has a row
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    last_used  timestamptz,
    revoked    boolean     NOT NULL DEFAULT false,
    host_key   text        NOT NULL DEFAULT '', -- public key of the only host that may use it; '': not bound to a host
    uses_left  integer     CHECK (uses_left >= 0), -- how often it may be exchanged for another token; it is good for
                                                   -- nothing else. null: an ordinary token
    pending    text        NOT NULL DEFAULT '', -- host whose token waits for approval, and is invalid until then
    session_of text        NOT NULL DEFAULT '', -- of a session of the page: the token's id or "user NAME" (unix socket)
                                                -- that it was begun with. It ends with that token
    seal       bytea       NOT NULL             -- MAC of the row by the farm's key
);
CREATE INDEX token_host_key ON token (host_key) WHERE host_key <> '';

---------------------------------------------------------------------------------------------------------------------
-- Shares and usage. A path is a place in the tree of shares: ada for a user, show/ for an account, show/ada for a user
-- in an account. Amounts are CPU-equivalent seconds.
---------------------------------------------------------------------------------------------------------------------

-- Accounts to which users may charge. The parents of a path such as show/shot are accounts too.
CREATE TABLE account (
    path        text        PRIMARY KEY CHECK (path <> ''),
    users       text[]      NOT NULL, -- members; '*': everybody
    groups      text[]      NOT NULL, -- of users, or of the supervisor's machine: their users are members
    default_for text[]      NOT NULL, -- members whose jobs name no account; '*': all without a default of their own
    by          text        NOT NULL,
    at          timestamptz NOT NULL
);

-- Shares of a place. A place without a row has one share.
CREATE TABLE share (
    path   text             PRIMARY KEY CHECK (path <> ''),
    shares double precision NOT NULL CHECK (shares >= 0),
    by     text             NOT NULL,
    at     timestamptz      NOT NULL
);

-- What a place may use.
CREATE TABLE budget (
    path   text             PRIMARY KEY CHECK (path <> ''),
    amount double precision NOT NULL CHECK (amount > 0),
    period bigint           NOT NULL CHECK (period >= 0), -- seconds before each moment; 0: decayed usage is limited
    beyond text             NOT NULL CHECK (beyond IN ('wait', 'idle')), -- what jobs over it do
    since  timestamptz      NOT NULL, -- begin of the latest part; a period has thirty parts
    by     text             NOT NULL,
    at     timestamptz      NOT NULL,
    spent  double precision[] NOT NULL -- what ended attempts used in each part, the latest first
           CHECK (0 <= ALL (spent) AND cardinality(spent) <= 31)
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

-- What users report as published, for credit.
CREATE TABLE publication (
    source text        PRIMARY KEY CHECK (source <> ''), -- in the form in which sources are compared
    owner  text        NOT NULL CHECK (owner <> ''),
    date   timestamptz NOT NULL,
    state  text        NOT NULL CHECK (state IN ('reported', 'accepted', 'rejected')),
    by     text        NOT NULL, -- who set the state
    at     timestamptz NOT NULL
);

-- What a user has used in an account, decayed to at: a new leader starts from it without reading the attempts. A row
-- may be out of date: what later commits made of it is in usage_news. Read the view usage.
CREATE TABLE payer (
    account text             NOT NULL,
    owner   text             NOT NULL,
    cpu     double precision NOT NULL CHECK (cpu >= 0),
    ram     double precision NOT NULL CHECK (ram >= 0),
    gpu     double precision NOT NULL CHECK (gpu >= 0),
    scratch double precision NOT NULL CHECK (scratch >= 0),
    at      timestamptz      NOT NULL,
    id      integer          NOT NULL, -- by which usage_news names it
    PRIMARY KEY (account, owner),
    CONSTRAINT payer_id UNIQUE (id)
) WITH (fillfactor = 50);

-- A row a commit instead of one for each payer, which would cost more than the rest of the commit: an element of each
-- array is one payer's new usage; null: nothing of that resource. The rows of many commits are applied to payer at once
-- and deleted. Checks would cost too much here; payer has them. Arrays stay in the row, not compressed, unless long.
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

---------------------------------------------------------------------------------------------------------------------
-- History
---------------------------------------------------------------------------------------------------------------------

-- Sums of attempts whose rows are removed: for each UTC day of their ends, payer, cluster of the job, host, result and
-- tags.
CREATE TABLE usage_day (
    day            date             NOT NULL,
    owner          text             NOT NULL,
    account        text             NOT NULL,
    cluster        text             NOT NULL,
    host           text             NOT NULL,
    kind           text             NOT NULL -- of the instance, if the attempt was done; failed: lost ones too
                   CHECK (kind IN ('primary', 'secondary', 'preempted', 'killed', 'failed')),
    charged        boolean          NOT NULL, -- the owner pays for them
    tags           jsonb            NOT NULL DEFAULT '{}', -- of the job
    -- Names may together be longer than an index can hold: the key has a hash of them.
    key            bytea            NOT NULL GENERATED ALWAYS AS (sha256(
        sha256(decode(replace(owner, '\', '\\'), 'escape')) || sha256(decode(replace(account, '\', '\\'), 'escape')) ||
        sha256(decode(replace(cluster, '\', '\\'), 'escape')) || sha256(decode(replace(host, '\', '\\'), 'escape')) ||
        sha256(jsonb_send(tags)))) STORED,
    attempts       bigint           NOT NULL CHECK (attempts > 0),
    wall           double precision NOT NULL, -- seconds
    slot_seconds   double precision NOT NULL,
    cpu_seconds    double precision NOT NULL,
    memory_seconds double precision NOT NULL, -- bytes × seconds
    used_cpu       double precision NOT NULL CHECK (used_cpu >= 0), -- charge in CPU-equivalent seconds
    used_ram       double precision NOT NULL CHECK (used_ram >= 0),
    used_gpu       double precision NOT NULL CHECK (used_gpu >= 0),
    used_scratch   double precision NOT NULL CHECK (used_scratch >= 0),
    left_cpu       double precision NOT NULL CHECK (left_cpu >= 0), -- the same, decayed to the end of the day
    left_ram       double precision NOT NULL CHECK (left_ram >= 0),
    left_gpu       double precision NOT NULL CHECK (left_gpu >= 0),
    left_scratch   double precision NOT NULL CHECK (left_scratch >= 0),
    PRIMARY KEY (day, kind, charged, key)
);

-- The one row that counts what was removed altogether, so that numbers of jobs are not used twice and sums still agree.
CREATE TABLE removed (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    jobs     bigint  NOT NULL DEFAULT 0,
    attempts bigint  NOT NULL DEFAULT 0,
    last_job bigint  NOT NULL DEFAULT 0 -- highest number of a removed job
);
INSERT INTO removed DEFAULT VALUES;

-- Orders, promotions, preemptions, locks and terms. Starts and ends of items are in attempt.
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
    cause    text        NOT NULL,
    reason   text        NOT NULL DEFAULT '',
    params   jsonb
);
CREATE INDEX event_job ON event (job, id) WHERE job IS NOT NULL;

-- Answers to changes that carried an Idempotency-Key, each written in the commit of its change: a repeated call gets
-- the same answer from any later leader and changes nothing. Rows are deleted after a day, or when more than 10,000
-- places of the same owner follow; owners are counted apart, so that no user displaces another's answers.
CREATE TABLE answer (
    owner text        NOT NULL, -- who called
    key   text        NOT NULL CHECK (key <> ''),
    hash  bytea       NOT NULL CHECK (length(hash) = 32), -- SHA-256 of the request
    body  text        NOT NULL, -- JSON
    at    timestamptz NOT NULL,
    place bigint      NOT NULL, -- rises; an answer of more than 16 kB takes several places
    PRIMARY KEY (owner, key),
    CONSTRAINT answer_place_key UNIQUE (owner, place)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX answer_at ON answer (at);

-- Who did what, from where. The row of a change is written in the commit of the change; refusals and reads of others'
-- output are written soon after, and only counted where there are too many.
CREATE TABLE audit (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    who     text        NOT NULL, -- the user; '': no credential was valid
    token   text        NOT NULL, -- id of the token; '': a user on the unix socket
    origin  text        NOT NULL, -- unix:UID, or the address
    verb    text        NOT NULL, -- id of the endpoint, such as submit, or order-job/kill
    object  text        NOT NULL, -- such as job 12, host rn01, token 0123456789abcdef
    outcome text        NOT NULL CHECK (outcome IN ('done', 'read', 'refused', 'dropped')),
    code    text        NOT NULL, -- of a refusal: its kind
    detail  jsonb       NOT NULL, -- values before and after, where they are small
    request text        NOT NULL, -- id of the request, as in its answer
    times   bigint      NOT NULL CHECK (times > 0) -- of dropped ones: how many
);
CREATE INDEX audit_at ON audit USING brin (at);
CREATE INDEX audit_who ON audit (who, id);

-- Rows are only added, and deleted when they are old.
-- +goose StatementBegin
CREATE FUNCTION audit_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < now() - interval '7 days' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'table audit is only added to';
END $$;
-- +goose StatementEnd
CREATE TRIGGER audit_no_change BEFORE UPDATE OR TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION audit_is_kept();
CREATE TRIGGER audit_no_removal BEFORE DELETE ON audit FOR EACH ROW EXECUTE FUNCTION audit_is_kept();

-- +goose Down
DROP VIEW usage;
DROP TABLE supervisor, restore, breakage, job, job_change, attempt, attempt_found, item_mark, item_order, profile, mail,
    host, resource, person, token, account, share, budget, credit, publication, payer, usage_news, usage_day, removed,
    event, answer, audit;
DROP FUNCTION audit_is_kept;
