/** Items files that are kept here, or why not; and when retention deleted a log, so that nobody looks for it. */
export const keptItems = /* sql */ `
ALTER TABLE attempts ADD COLUMN log_deleted_at_ms INTEGER; -- by retention; null: it has not
-- Apart from attempts, and outliving them: retention finds the blobs of deleted jobs here.
CREATE TABLE kept_items (
  job_id TEXT NOT NULL,
  attempt_number INTEGER NOT NULL,
  project TEXT NOT NULL,
  spider TEXT NOT NULL,
  ended_at_ms INTEGER NOT NULL,
  raw_bytes INTEGER,
  stored_bytes INTEGER, -- of the blob; null: there is none
  problem TEXT, -- why it could not be kept
  deleted_at_ms INTEGER, -- by retention
  PRIMARY KEY (job_id, attempt_number)
) STRICT, WITHOUT ROWID;
`
