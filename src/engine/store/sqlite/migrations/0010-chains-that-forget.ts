/**
 * A job's chain records are deleted when nothing needs them (chain-ends.ts), so they are keyed by job; and each job
 * created by chains names all of them, instead of a path through earlier jobs that would have to be kept.
 */
export const chainsThatForget = /* sql */ `
-- Each chain answers the end of a job once: its row is written with the end, and stays while the job may end again.
CREATE TABLE chain_ends_anew (
  job_id TEXT NOT NULL,
  chain_id TEXT NOT NULL REFERENCES chains (id) ON DELETE CASCADE,
  ended_at_ms INTEGER NOT NULL,
  answered_at_ms INTEGER,
  PRIMARY KEY (job_id, chain_id)
) STRICT, WITHOUT ROWID;
INSERT INTO chain_ends_anew SELECT job_id, chain_id, ended_at_ms, answered_at_ms FROM chain_ends
  WHERE answered_at_ms IS NULL
    OR EXISTS (SELECT 1 FROM jobs WHERE id = job_id AND (state <> 'ended' OR cancelled_while_queued <> 0));
DROP TABLE chain_ends;
ALTER TABLE chain_ends_anew RENAME TO chain_ends;
CREATE INDEX chain_ends_due ON chain_ends (ended_at_ms) WHERE answered_at_ms IS NULL;

-- The chains that a job came from, the last and those before it: what keeps a circle of chains from turning for ever.
CREATE TABLE chain_lines (
  job_id TEXT NOT NULL,
  chain_id TEXT NOT NULL,
  PRIMARY KEY (job_id, chain_id)
) STRICT, WITHOUT ROWID;
INSERT INTO chain_lines
  WITH RECURSIVE line (job_id, before_id, chain_id) AS (
    SELECT job_id, after_job_id, chain_id FROM chain_jobs
      WHERE EXISTS (SELECT 1 FROM jobs WHERE id = job_id AND (state <> 'ended' OR cancelled_while_queued <> 0))
        OR EXISTS (SELECT 1 FROM chain_ends WHERE chain_ends.job_id = chain_jobs.job_id AND answered_at_ms IS NULL)
    UNION ALL
    SELECT line.job_id, chain_jobs.after_job_id, chain_jobs.chain_id
      FROM line CROSS JOIN chain_jobs ON chain_jobs.job_id = line.before_id
  )
  SELECT DISTINCT job_id, chain_id FROM line;
DROP TABLE chain_jobs;
`
