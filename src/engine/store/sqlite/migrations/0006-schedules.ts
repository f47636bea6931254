/**
 * Schedules, firings of their moments, backfills; chains and the ends they answer; webhooks and deliveries; remembered
 * answers for repeated requests (idempotency keys).
 */
export const schedulesAndDoors = /* sql */ `
ALTER TABLE jobs ADD COLUMN schedule_id TEXT;
ALTER TABLE jobs ADD COLUMN nominal_ms INTEGER;
-- By status, so that its live jobs are found among years of ended ones, and a page of the list is merged from walks down it.
CREATE INDEX jobs_of_schedule ON jobs (schedule_id, status, id) WHERE schedule_id IS NOT NULL;

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
CREATE INDEX firings_of_schedule_by_state ON firings (schedule_id, state, id);
CREATE INDEX firings_by_state ON firings (state, id);
CREATE INDEX firings_of_backfill ON firings (backfill_id) WHERE backfill_id IS NOT NULL;

CREATE TABLE chains (
  id TEXT NOT NULL PRIMARY KEY,
  settings TEXT NOT NULL, -- JSON; secret values are sealed
  -- What an end is compared with, out of the settings.
  enabled INTEGER NOT NULL,
  project TEXT NOT NULL,
  spider TEXT NOT NULL,
  condition TEXT NOT NULL,
  created_at_ms INTEGER NOT NULL,
  fired_count INTEGER NOT NULL DEFAULT 0,
  last_fired_at_ms INTEGER,
  problem TEXT
) STRICT;

-- Each chain answers the end of a job once: its row is written with the end, and stays.
CREATE TABLE chain_ends (
  chain_id TEXT NOT NULL REFERENCES chains (id) ON DELETE CASCADE,
  job_id TEXT NOT NULL,
  ended_at_ms INTEGER NOT NULL,
  answered_at_ms INTEGER,
  PRIMARY KEY (chain_id, job_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX chain_ends_due ON chain_ends (ended_at_ms) WHERE answered_at_ms IS NULL;

-- Jobs that chains made, and after which: what keeps a circle of chains from turning for ever.
CREATE TABLE chain_jobs (
  job_id TEXT NOT NULL PRIMARY KEY,
  chain_id TEXT NOT NULL,
  after_job_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who is told of events: webhooks, and plugins with hooks for them. waiting and dead count its deliveries.
CREATE TABLE webhooks (
  id TEXT NOT NULL PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('webhook', 'plugin')),
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  events TEXT NOT NULL,
  project TEXT,
  enabled INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL,
  sealed_secret TEXT,
  sealed_old_secret TEXT,
  old_secret_until_ms INTEGER,
  last_delivered_at_ms INTEGER,
  problem TEXT,
  waiting INTEGER NOT NULL DEFAULT 0,
  dead INTEGER NOT NULL DEFAULT 0,
  dropped INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE deliveries (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook_id TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  event TEXT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'dead')),
  tries INTEGER NOT NULL,
  made_at_ms INTEGER NOT NULL,
  next_try_at_ms INTEGER,
  ended_at_ms INTEGER,
  answer TEXT
) STRICT;
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_try_at_ms, sequence) WHERE state = 'waiting';
CREATE INDEX deliveries_of_webhook ON deliveries (webhook_id, state, sequence);
CREATE INDEX deliveries_in_order ON deliveries (webhook_id, sequence);
CREATE INDEX deliveries_ended ON deliveries (state, ended_at_ms) WHERE ended_at_ms IS NOT NULL;

-- What was answered to a request with a key of its own (Idempotency-Key); answer is sealed, and null until there is one.
CREATE TABLE remembered_answers (
  scope TEXT NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  begun_by TEXT NOT NULL,
  answer TEXT,
  expires_at_ms INTEGER NOT NULL,
  PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX remembered_answers_over ON remembered_answers (expires_at_ms);
`
