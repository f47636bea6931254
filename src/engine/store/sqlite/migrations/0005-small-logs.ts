/**
 * Archived logs that are small, kept with their attempts instead of a file for each. Of its own, so that rows of attempts stay short;
 * with a rowid, so that what comes later stands behind what came before, whatever its size.
 */
export const smallLogs = /* sql */ `
CREATE TABLE archived_logs (
  id INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL,
  attempt_number INTEGER NOT NULL,
  gzip BLOB NOT NULL,
  UNIQUE (job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT;
`
