/**
 * Where in the index of logs (engine/search) each archived log is. A table of its own: a column of archived_logs would
 * rewrite a row with its packed bytes, and be read behind them.
 */
export const logBlocks = /* sql */ `
CREATE TABLE log_blocks (
  job_id TEXT NOT NULL,
  attempt_number INTEGER NOT NULL,
  raw_bytes INTEGER NOT NULL,
  first_block INTEGER, -- of its whole frames, one block each; null: it has none
  whole_blocks INTEGER NOT NULL,
  tail_block INTEGER, -- of what is after them; null: nothing is; -1: its block is not closed yet
  PRIMARY KEY (job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES archived_logs (job_id, attempt_number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
`
