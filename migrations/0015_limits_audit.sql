-- +goose Up

-- A sum's names are as long as users make them, and together longer than an index can hold: they are known by a hash.
ALTER TABLE usage_day DROP CONSTRAINT usage_day_pkey,
    ADD COLUMN key bytea NOT NULL GENERATED ALWAYS AS (sha256(
        sha256(decode(replace(owner, '\', '\\'), 'escape')) || sha256(decode(replace(account, '\', '\\'), 'escape')) ||
        sha256(decode(replace(cluster, '\', '\\'), 'escape')) || sha256(decode(replace(host, '\', '\\'), 'escape')) ||
        sha256(jsonb_send(tags)))) STORED,
    ADD PRIMARY KEY (day, kind, charged, key);

-- Answers are counted for each owner: nobody pushes out what others were answered.
ALTER TABLE answer DROP CONSTRAINT answer_place_key, ADD CONSTRAINT answer_place_key UNIQUE (owner, place);
CREATE INDEX answer_at ON answer (at);

-- Who did what, from where. A change's row is written in the commit of the change; refusals and reads of others'
-- output are written soon after, and counted where there are too many of them.
CREATE TABLE audit (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    who     text        NOT NULL, -- the user; '' if no credential was good
    token   text        NOT NULL, -- id of the token; '' for a user on the unix socket
    origin  text        NOT NULL, -- unix:UID, or the address
    verb    text        NOT NULL, -- id of the endpoint, such as submit, or order-job/kill
    object  text        NOT NULL, -- such as job 12, host rn01, token 0123456789abcdef
    outcome text        NOT NULL CHECK (outcome IN ('done', 'read', 'refused', 'dropped')),
    code    text        NOT NULL, -- of a refusal: its kind
    detail  jsonb       NOT NULL, -- before and after, where that is small
    request text        NOT NULL, -- id of the request, as its answer had it
    times   bigint      NOT NULL CHECK (times > 0) -- of dropped ones: how many
);
CREATE INDEX audit_at ON audit USING brin (at);
CREATE INDEX audit_who ON audit (who, id);

-- Rows are only added, and removed when they are old.
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
DROP TABLE audit;
DROP FUNCTION audit_is_kept;
DROP INDEX answer_at;
WITH renumbered AS (SELECT owner, key, row_number() OVER (ORDER BY at, owner, place) AS place FROM answer)
    UPDATE answer a SET place = -r.place FROM renumbered r WHERE a.owner = r.owner AND a.key = r.key;
ALTER TABLE answer DROP CONSTRAINT answer_place_key;
UPDATE answer SET place = -place;
ALTER TABLE answer ADD CONSTRAINT answer_place_key UNIQUE (place);
ALTER TABLE usage_day DROP CONSTRAINT usage_day_pkey, DROP COLUMN key,
    ADD PRIMARY KEY (day, owner, account, cluster, host, kind, charged, tags);
