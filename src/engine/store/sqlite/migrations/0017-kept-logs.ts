/** Every archived log has a row with its sizes: retention and the storage view add them up. */
export const keptLogs = /* sql */ `
ALTER TABLE archived_logs RENAME COLUMN gzip TO packed; -- empty: it is a blob
ALTER TABLE archived_logs ADD COLUMN raw_bytes INTEGER; -- null: archived by an earlier version
ALTER TABLE archived_logs ADD COLUMN stored_bytes INTEGER; -- of the blob; null: the length of packed
`
