/** Whether the jobs of a backfill may go before those of others. One that was begun earlier may not. */
export const backfillsThatGoFirst = /* sql */ `
ALTER TABLE backfills ADD COLUMN may_go_first bigint NOT NULL DEFAULT 0 CHECK (may_go_first IN (0, 1));
`
