-- +goose Up

-- What a job is tagged with for reports, such as {"prod_show": "heron"}; tags that are empty are not in it.
ALTER TABLE job ADD COLUMN tags jsonb NOT NULL DEFAULT '{}';

-- Sums are kept apart by them.
ALTER TABLE usage_day ADD COLUMN tags jsonb NOT NULL DEFAULT '{}', DROP CONSTRAINT usage_day_pkey,
    ADD PRIMARY KEY (day, owner, account, cluster, host, kind, charged, tags);

-- +goose Down
CREATE TEMPORARY TABLE whole AS SELECT day, owner, account, cluster, host, kind, charged, sum(attempts)::bigint AS attempts,
    sum(wall) AS wall, sum(slot_seconds) AS slot_seconds, sum(cpu_seconds) AS cpu_seconds, sum(memory_seconds) AS memory_seconds,
    sum(used_cpu) AS used_cpu, sum(used_ram) AS used_ram, sum(used_gpu) AS used_gpu, sum(used_scratch) AS used_scratch,
    sum(left_cpu) AS left_cpu, sum(left_ram) AS left_ram, sum(left_gpu) AS left_gpu, sum(left_scratch) AS left_scratch
    FROM usage_day GROUP BY day, owner, account, cluster, host, kind, charged;
DELETE FROM usage_day;
ALTER TABLE usage_day DROP CONSTRAINT usage_day_pkey, DROP COLUMN tags,
    ADD PRIMARY KEY (day, owner, account, cluster, host, kind, charged);
INSERT INTO usage_day SELECT day, owner, account, cluster, host, kind, charged, attempts, wall, slot_seconds, cpu_seconds,
    memory_seconds, used_cpu, used_ram, used_gpu, used_scratch, left_cpu, left_ram, left_gpu, left_scratch FROM whole;
DROP TABLE whole;
ALTER TABLE job DROP COLUMN tags;
