/** The version that a job's newest attempt was sent with: a list says what ran, not only what was asked for. */
export const versionsThatRan = /* sql */ `
ALTER TABLE jobs ADD COLUMN sent_version TEXT;
-- Ended jobs stay without one: it would write each of a million rows anew, which 0014 and 0016 only read.
UPDATE jobs SET sent_version = (SELECT version FROM attempts WHERE job_id = jobs.id AND number = jobs.attempt_count)
  WHERE state IN ('starting', 'running');
`
