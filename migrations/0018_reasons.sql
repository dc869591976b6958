-- +goose NO TRANSACTION
-- +goose Up

-- Why an attempt stops or ended, as a code with parameters; cause is the sentence made of them, for people. The codes
-- are listed in docs/codes.md. Each step may be repeated, so that an interrupted migration goes on where it was.
ALTER TABLE attempt ADD COLUMN IF NOT EXISTS reason text NOT NULL DEFAULT '', ADD COLUMN IF NOT EXISTS params jsonb;
ALTER TABLE event ADD COLUMN IF NOT EXISTS reason text NOT NULL DEFAULT '', ADD COLUMN IF NOT EXISTS params jsonb;
ALTER TABLE attempt DROP CONSTRAINT IF EXISTS attempt_has_reason;
ALTER TABLE attempt ADD CONSTRAINT attempt_has_reason
    CHECK (reason <> '' OR cause = '' AND state IN ('running', 'done', 'superseded')) NOT VALID;

-- What was written before is known by its wording, here and nowhere else: 1000 pages of the table a transaction.
-- +goose StatementBegin
DO $$
DECLARE
    pages bigint := pg_relation_size('attempt') / current_setting('block_size')::bigint;
    page  bigint := 0;
BEGIN
    WHILE page <= pages LOOP
        UPDATE attempt SET reason = CASE
            WHEN state = 'running' THEN 'sent_away'
            WHEN state IN ('done', 'superseded') THEN 'log_incomplete'
            WHEN state IN ('stopping', 'killed', 'preempted') THEN CASE
                WHEN cause LIKE 'killed%' THEN 'killed'
                WHEN cause LIKE 'blocked by %' THEN 'blocked'
                WHEN cause LIKE 'interrupted by %' THEN 'interrupted'
                WHEN cause LIKE 'gives way to a primary of job %' THEN 'primary_waits'
                WHEN cause LIKE 'gives way to job %' THEN 'better_priority'
                WHEN cause LIKE 'surplus slots are shared %' THEN 'surplus_shared'
                WHEN cause LIKE 'job % may run % wide now' THEN 'width_lowered'
                WHEN cause LIKE 'the database was restored%' THEN 'restored'
                WHEN cause LIKE 'its host had only %' THEN 'host_memory_low'
                WHEN cause = '' THEN 'not_wanted'
                ELSE 'worker_stopped' END
            WHEN state = 'failed' THEN CASE
                WHEN cause LIKE 'memory: it reached its limit%' THEN 'memory_limit'
                WHEN cause LIKE 'memory: %' THEN 'out_of_memory'
                WHEN exit_code IS NOT NULL THEN 'exit'
                WHEN signal IS NOT NULL THEN 'signal'
                WHEN cause LIKE 'it ran for %' THEN 'time_limit'
                ELSE 'launch_failed' END
            ELSE CASE
                WHEN cause LIKE 'memory: %' THEN 'memory_unavailable'
                WHEN cause LIKE 'its worker, of another release, calls the end %' THEN 'unknown_outcome'
                WHEN cause LIKE 'host % was not heard within its execution lease' THEN 'host_silent'
                WHEN cause LIKE 'host % took no answer within its execution lease' THEN 'host_deaf'
                WHEN cause LIKE 'host % was restarted' THEN 'host_restarted'
                WHEN cause LIKE '% confirmed that nothing runs on %' THEN 'confirmed_dead'
                WHEN cause LIKE 'this host cannot run it: %' THEN 'host_refused'
                WHEN cause LIKE 'its log cannot be written: %' THEN 'log_unwritable'
                ELSE 'no_record' END
            END
        WHERE ctid >= format('(%s,0)', page)::tid AND ctid < format('(%s,0)', page + 1000)::tid
            AND reason = '' AND (cause <> '' OR state NOT IN ('running', 'done', 'superseded'));
        COMMIT;
        page := page + 1000;
    END LOOP;
END $$;
-- +goose StatementEnd
ALTER TABLE attempt VALIDATE CONSTRAINT attempt_has_reason;

-- +goose Down
ALTER TABLE event DROP COLUMN IF EXISTS reason, DROP COLUMN IF EXISTS params;
ALTER TABLE attempt DROP COLUMN IF EXISTS reason, DROP COLUMN IF EXISTS params;
