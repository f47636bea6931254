/**
 * Small archived logs, stored with their attempts instead of one file each. A separate table, so that rows of attempts
 * stay short; with a rowid, so that rows are appended in order of insertion, whatever their size.
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
