/** What retention deletes by: ends in order, sizes of logs, sums of both; the policy, and jobs that operators keep. */
export const retention = /* sql */ `
ALTER TABLE jobs ADD COLUMN kept INTEGER NOT NULL DEFAULT 0;
-- Retention walks down this one, a million jobs at a time: it must not read their rows.
DROP INDEX jobs_ended;
CREATE INDEX jobs_ended ON jobs (ended_at_ms, id, outcome, project, spider) WHERE state = 'ended';
CREATE TABLE ended_jobs (
  project TEXT NOT NULL,
  spider TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (project, spider)
) STRICT, WITHOUT ROWID;
INSERT INTO ended_jobs SELECT project, spider, sum(count) FROM job_counts
  WHERE status NOT IN ('queued', 'starting', 'running') GROUP BY 1, 2;

-- Large logs that an earlier version archived had no row.
INSERT INTO archived_logs (job_id, attempt_number, packed)
  SELECT job_id, number, x'' FROM attempts WHERE log_archived = 1
    AND NOT EXISTS (SELECT 1 FROM archived_logs WHERE archived_logs.job_id = attempts.job_id AND attempt_number = number);
CREATE INDEX archived_logs_sizes ON archived_logs (job_id, attempt_number, coalesce(stored_bytes, length(packed)), length(packed));
CREATE TABLE log_sums (
  project TEXT NOT NULL PRIMARY KEY,
  count INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  packed_bytes INTEGER NOT NULL -- of them in this database
) STRICT, WITHOUT ROWID;
INSERT INTO log_sums
  SELECT attempts.project, count(*), sum(coalesce(stored_bytes, length(packed))), sum(length(packed))
  FROM archived_logs JOIN attempts ON attempts.job_id = archived_logs.job_id AND number = attempt_number GROUP BY 1;
-- Blobs of deleted logs, until they are deleted too.
CREATE TABLE deleted_logs (
  job_id TEXT NOT NULL,
  attempt_number INTEGER NOT NULL,
  PRIMARY KEY (job_id, attempt_number)
) STRICT, WITHOUT ROWID;

-- JSON of the whole policy, with its revision: one row or none.
CREATE TABLE storage_policy (revision INTEGER NOT NULL, policy TEXT NOT NULL) STRICT;
`
