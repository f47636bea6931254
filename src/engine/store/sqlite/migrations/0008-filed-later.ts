/**
 * In an index by schedule, each schedule's entries are on a page of their own: a thousand schedules firing at once
 * wrote a thousand pages to each such index, within the commit that their jobs wait for. Firings now enter a short
 * index first, and the long-term one when the store is idle (filing.ts); jobs enter theirs when they end.
 */
export const filedLater = /* sql */ `
DROP INDEX jobs_of_schedule;
CREATE INDEX jobs_of_schedule_live ON jobs (schedule_id, id) WHERE schedule_id IS NOT NULL AND state <> 'ended';
-- By status, so that a page of the list is merged from walks down it.
CREATE INDEX jobs_of_schedule_ended ON jobs (schedule_id, status, id) WHERE schedule_id IS NOT NULL AND state = 'ended';

-- Without the reference to schedules, whose removal would look for firings by an index that holds all: whoever removes one removes them.
CREATE TABLE firings_anew (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  schedule_id TEXT NOT NULL,
  nominal_ms INTEGER NOT NULL,
  origin TEXT NOT NULL CHECK (origin IN ('tick', 'manual', 'backfill')),
  backfill_id TEXT,
  at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  text TEXT NOT NULL,
  count INTEGER NOT NULL DEFAULT 1,
  job_ids TEXT NOT NULL DEFAULT '[]',
  -- 0: it lies in firings_new, and not yet in firings_of_schedule.
  filed INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO firings_anew SELECT *, 1 FROM firings;
DELETE FROM sqlite_sequence WHERE name = 'firings_anew';
INSERT INTO sqlite_sequence SELECT 'firings_anew', seq FROM sqlite_sequence WHERE name = 'firings';
DROP TABLE firings;
ALTER TABLE firings_anew RENAME TO firings;
-- Exactly one for each moment of a schedule, whoever fires it and however often it dies: a backfill does not repeat what ran by the clock.
CREATE UNIQUE INDEX firings_once ON firings (nominal_ms, schedule_id) WHERE origin <> 'manual' AND state = 'fired';
CREATE INDEX firings_new ON firings (schedule_id, id) WHERE filed = 0;
CREATE INDEX firings_of_schedule ON firings (schedule_id, state, id) WHERE filed = 1;
CREATE INDEX firings_by_state ON firings (state, id);
CREATE INDEX firings_of_backfill ON firings (backfill_id) WHERE backfill_id IS NOT NULL;
`
