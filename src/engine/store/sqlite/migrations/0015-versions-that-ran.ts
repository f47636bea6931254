/** The version that a job's newest attempt was sent with: a list says what ran, not only what was asked for. */
export const versionsThatRan = /* sql */ `
ALTER TABLE jobs ADD COLUMN sent_version TEXT;
-- Jobs of before stay without one: a million rows would delay the start. Live ones are few.
UPDATE jobs SET sent_version = (SELECT version FROM attempts WHERE job_id = jobs.id AND number = jobs.attempt_count)
  WHERE state IN ('starting', 'running');
`
