/**
 * Schedules, what became of each of their moments, backfills and chains; webhooks and what is to be delivered to them; answers that are
 * remembered for clients that ask again (idempotency keys).
 */
export const schedulesAndDoors = /* sql */ `
ALTER TABLE jobs ADD COLUMN schedule_id TEXT;
ALTER TABLE jobs ADD COLUMN nominal_ms INTEGER;
CREATE INDEX jobs_of_schedule ON jobs (schedule_id, id) WHERE schedule_id IS NOT NULL;

CREATE TABLE schedules (
  id TEXT NOT NULL PRIMARY KEY,
  revision INTEGER NOT NULL,
  name TEXT NOT NULL,
  settings TEXT NOT NULL, -- JSON; secret values are sealed
  paused INTEGER NOT NULL,
  pause_note TEXT,
  paused_by TEXT,
  created_at_ms INTEGER NOT NULL,
  changed_at_ms INTEGER NOT NULL,
  -- Every moment up to here has its row in firings, or was before the schedule began.
  done_until_ms INTEGER NOT NULL,
  run_count INTEGER NOT NULL DEFAULT 0,
  failures_in_a_row INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE firings (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  schedule_id TEXT NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  nominal_ms INTEGER NOT NULL,
  origin TEXT NOT NULL CHECK (origin IN ('tick', 'manual', 'backfill')),
  backfill_id TEXT,
  at_ms INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  text TEXT NOT NULL,
  count INTEGER NOT NULL DEFAULT 1,
  job_ids TEXT NOT NULL DEFAULT '[]'
) STRICT;
-- Exactly one for each moment of a schedule, whoever fires it and however often it dies: a backfill does not repeat what ran by the clock.
CREATE UNIQUE INDEX firings_once ON firings (schedule_id, nominal_ms) WHERE origin <> 'manual' AND state = 'fired';
CREATE INDEX firings_of_schedule ON firings (schedule_id, id);
CREATE INDEX firings_by_state ON firings (state, id);
CREATE INDEX firings_of_backfill ON firings (backfill_id) WHERE backfill_id IS NOT NULL;
`
