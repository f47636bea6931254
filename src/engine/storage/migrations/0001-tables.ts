/** Chooses between the SQL of the two databases. */
type Either = (sqlite: string, postgres: string) => string

/**
 * The tables of both databases, in SQLite's SQL unless `either` gives an alternative. Times are whole milliseconds
 * since 1970; lists and maps are JSON text. Rows and index entries that are written together are stored together,
 * because each page that a commit touches adds several KiB to SQLite's log.
 */
export function tables(either: Either): string {
  const name = either('name COLLATE NOCASE', 'lower(name)')
  const outcome = either('outcome', "coalesce(outcome, '')")
  const kind = `kind TEXT NOT NULL${either(" DEFAULT 'webhook'", '')} CHECK (kind IN ('webhook', 'plugin', 'channel'))`
  return /* sql */ `
-- state and outcome are authoritative; status combines them into one word for filters. asked_text and asked_evidence
-- are the entry "queued" of its timeline; null: it is a row of transitions. sent_version: of the newest attempt.
CREATE TABLE jobs (
  id TEXT NOT NULL PRIMARY KEY, jobid TEXT NOT NULL, project TEXT NOT NULL, version TEXT, spider TEXT NOT NULL,
  settings TEXT NOT NULL, args TEXT NOT NULL, priority REAL NOT NULL, placement_node_id TEXT,
  placement_tags TEXT NOT NULL, lane TEXT NOT NULL, source TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'starting', 'running', 'ended')),
  outcome TEXT CHECK (outcome IN ('succeeded', 'failed', 'cancelled', 'lost', 'unclear')),
  status TEXT NOT NULL GENERATED ALWAYS AS (coalesce(outcome, state)) ${either('VIRTUAL', 'STORED')},
  reason TEXT, killing_line TEXT, node_id TEXT, attempt_count INTEGER NOT NULL DEFAULT 0, cancel_asked_at_ms INTEGER,
  cancelled_while_queued INTEGER NOT NULL DEFAULT 0,
  queued_at_ms INTEGER NOT NULL, started_at_ms INTEGER, ended_at_ms INTEGER,
  pages INTEGER, items INTEGER, errors INTEGER,
  secret_names TEXT NOT NULL DEFAULT '[]', limits TEXT, retry TEXT, not_before_ms INTEGER, expires_at_ms INTEGER,
  overlap_key TEXT, after TEXT NOT NULL DEFAULT '[]', dedupe_key TEXT, hold TEXT, rank REAL NOT NULL DEFAULT 0,
  may_have_run_twice INTEGER NOT NULL DEFAULT 0, asked_text TEXT, asked_evidence TEXT,
  schedule_id TEXT, nominal_ms INTEGER, user_id TEXT, env TEXT NOT NULL DEFAULT '{}', sent_version TEXT,
  kept INTEGER NOT NULL DEFAULT 0,
  CHECK ((state = 'ended') = (outcome IS NOT NULL)),
  CHECK (state <> 'queued' OR cancel_asked_at_ms IS NULL),
  CHECK ((state = 'ended') = (ended_at_ms IS NOT NULL))
) STRICT;
CREATE INDEX jobs_by_own_jobid ON jobs (jobid${either('', ', id')}) WHERE jobid <> id;
-- A row of an index of PostgreSQL has at most 2,704 bytes, and the text of a lane may have more: its hash is in the
-- indexes instead. That of one lane is compared by scrapdeck_same_lane, which the planner opens, so that it finds the
-- index; the digest, which nobody can make equal for two lanes, keeps queue_lanes unique.
CREATE INDEX jobs_queue ON jobs (${either('lane', 'hashtextextended(lane, 0)')}, priority DESC, rank ASC, id ASC)
  WHERE state = 'queued' AND hold IS NULL;
CREATE INDEX jobs_not_before ON jobs (not_before_ms) WHERE state = 'queued' AND hold IN ('not_before', 'retry');
CREATE INDEX jobs_expiring ON jobs (expires_at_ms) WHERE state = 'queued' AND expires_at_ms IS NOT NULL;
CREATE INDEX jobs_overlap_waiting ON jobs (overlap_key, priority DESC, rank ASC)
  WHERE state = 'queued' AND hold = 'overlap';
CREATE INDEX jobs_held ON jobs (priority, rank) WHERE state = 'queued' AND hold IS NOT NULL;
-- Never two live runs with one overlap key.
CREATE UNIQUE INDEX jobs_overlap_live ON jobs (overlap_key)
  WHERE state IN ('starting', 'running') AND overlap_key IS NOT NULL;
-- A thousand schedules that fire at once would write a thousand pages of one index by schedule, in the commit that
-- their jobs wait for: jobs enter the long one when they end. By status, so that a page is merged from walks down it.
CREATE INDEX jobs_of_schedule_live ON jobs (schedule_id, id) WHERE schedule_id IS NOT NULL AND state <> 'ended';
CREATE INDEX jobs_of_schedule_ended ON jobs (schedule_id, status, id) WHERE schedule_id IS NOT NULL AND state = 'ended';
CREATE INDEX jobs_of_user_live ON jobs (user_id, id) WHERE user_id IS NOT NULL AND state <> 'ended';
CREATE INDEX jobs_of_user_ended ON jobs (user_id, status, id) WHERE user_id IS NOT NULL AND state = 'ended';
-- Serves every list of jobs (job-list.ts). Not by status, which is computed: SQLite takes no index as covering for a
-- query that names a computed column.
CREATE INDEX jobs_listed ON jobs (project, spider, state, ${outcome}, id);
CREATE INDEX jobs_on_node ON jobs (node_id, project, spider, state, ${outcome}, id) WHERE node_id IS NOT NULL;
-- Few of many jobs, and operators look for them: without this index, a page of them merges every kind of job.
CREATE INDEX jobs_ended_badly ON jobs (outcome, id) WHERE outcome IN ('failed', 'cancelled', 'lost');
-- Retention walks down this index, a million jobs at a time: it must not read their rows.
CREATE INDEX jobs_ended ON jobs (ended_at_ms, id, outcome, project, spider) WHERE state = 'ended';

-- log_deleted_at_ms: by retention.
CREATE TABLE attempts (
  job_id TEXT NOT NULL REFERENCES jobs (id), number INTEGER NOT NULL, jobid TEXT NOT NULL, node_id TEXT NOT NULL,
  project TEXT NOT NULL, version TEXT NOT NULL, spider TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('sending', 'uncertain', 'accepted', 'running', 'finishing', 'ended')),
  result TEXT CHECK (result IN ('succeeded', 'failed', 'cancelled', 'lost', 'unclear', 'refused', 'absent')),
  reason TEXT, sent_at_ms INTEGER NOT NULL, accepted_at_ms INTEGER, started_at_ms INTEGER, ended_at_ms INTEGER,
  pid INTEGER, exit_code INTEGER, signal TEXT, stats TEXT, log_archived INTEGER NOT NULL DEFAULT 0, limit_hit TEXT,
  peak_memory_bytes INTEGER, cpu_seconds REAL, log_deleted_at_ms INTEGER,
  PRIMARY KEY (job_id, number),
  CHECK ((state = 'ended') = (result IS NOT NULL))
) STRICT;
-- Invariant I2: a job has at most one live attempt.
CREATE UNIQUE INDEX attempts_live ON attempts (job_id) WHERE state <> 'ended';
-- Never send the same jobid twice to a node: Scrapyd would silently run it twice.
CREATE UNIQUE INDEX attempts_on_node ON attempts (node_id, project, jobid);

CREATE TABLE transitions (
  sequence INTEGER PRIMARY KEY, job_id TEXT NOT NULL REFERENCES jobs (id), attempt_number INTEGER,
  at_ms INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, evidence TEXT NOT NULL
) STRICT;
CREATE INDEX transitions_by_job ON transitions (job_id);

CREATE TABLE job_dependencies (
  job_id TEXT NOT NULL REFERENCES jobs (id), on_job_id TEXT NOT NULL REFERENCES jobs (id),
  condition TEXT NOT NULL CHECK (condition IN ('succeeded', 'failed', 'ended')),
  PRIMARY KEY (on_job_id, job_id, condition)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_dependencies_of ON job_dependencies (job_id);

CREATE TABLE dedupe_keys (
  key TEXT NOT NULL PRIMARY KEY, job_id TEXT NOT NULL, expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX dedupe_keys_expiring ON dedupe_keys (expires_at_ms);

-- The last ranks issued at either end of the queue: one row.
CREATE TABLE queue_ends (front REAL NOT NULL, back REAL NOT NULL) STRICT;
INSERT INTO queue_ends VALUES (0, 0);
CREATE TABLE queue_lanes (
  lane TEXT NOT NULL${either(' PRIMARY KEY', '')}, depth INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
${either('', 'CREATE UNIQUE INDEX queue_lanes_by_lane ON queue_lanes (scrapdeck_digest(lane));')}
CREATE TABLE state_counts (state TEXT NOT NULL PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO state_counts VALUES ('queued', 0), ('starting', 0), ('running', 0), ('ended', 0);
-- The number of jobs of each kind, from which lists and facets are planned. Kinds without jobs have no row.
-- node_id: '' if the job has had no node, here and in ended_counts.
CREATE TABLE job_counts (
  project TEXT NOT NULL, spider TEXT NOT NULL, status TEXT NOT NULL, node_id TEXT NOT NULL, count INTEGER NOT NULL,
  PRIMARY KEY (project, spider, status, node_id)
) STRICT, WITHOUT ROWID;
-- Of ids from from_id (five digits, and 0 or 8) up to the next multiple of 2^27 ms.
CREATE TABLE ended_counts (
  from_id TEXT NOT NULL, project TEXT NOT NULL, spider TEXT NOT NULL, status TEXT NOT NULL, node_id TEXT NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY (from_id, project, spider, status, node_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE ended_jobs (
  project TEXT NOT NULL, spider TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (project, spider)
) STRICT, WITHOUT ROWID;

-- Small logs are in packed, others are blobs and packed is empty. Separate from attempts, whose rows stay short; with a
-- rowid, so that rows of any size are appended. raw_bytes and stored_bytes may be null: archived by an earlier
-- version; stored_bytes is then the length of packed.
CREATE TABLE archived_logs (
  id INTEGER PRIMARY KEY, job_id TEXT NOT NULL, attempt_number INTEGER NOT NULL, packed BLOB NOT NULL,
  raw_bytes INTEGER, stored_bytes INTEGER, UNIQUE (job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT;
CREATE INDEX archived_logs_sizes ON archived_logs (
  job_id, attempt_number, coalesce(stored_bytes, length(packed)), length(packed)
);
-- packed_bytes: the part in this database.
CREATE TABLE log_sums (
  project TEXT NOT NULL PRIMARY KEY, count INTEGER NOT NULL, bytes INTEGER NOT NULL, packed_bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Blobs of deleted logs, until they are deleted too.
CREATE TABLE deleted_logs (
  job_id TEXT NOT NULL, attempt_number INTEGER NOT NULL, PRIMARY KEY (job_id, attempt_number)
) STRICT, WITHOUT ROWID;
-- The place of each archived log in the index of logs (engine/runs/search). Separate from archived_logs, so that packed
-- bytes are not rewritten. first_block: of its whole frames, one block each; null: it has none. tail_block: of the rest
-- after them; null: there is none; -1: its block is not closed yet.
CREATE TABLE log_blocks (
  job_id TEXT NOT NULL, attempt_number INTEGER NOT NULL, raw_bytes INTEGER NOT NULL, first_block INTEGER,
  whole_blocks INTEGER NOT NULL, tail_block INTEGER, PRIMARY KEY (job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES archived_logs (job_id, attempt_number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
-- They outlive their attempts: retention finds the blobs of deleted jobs here. stored_bytes: of the blob; null: there
-- is none, and problem has the reason. deleted_at_ms: by retention.
CREATE TABLE kept_items (
  job_id TEXT NOT NULL, attempt_number INTEGER NOT NULL, project TEXT NOT NULL, spider TEXT NOT NULL,
  ended_at_ms INTEGER NOT NULL, raw_bytes INTEGER, stored_bytes INTEGER, problem TEXT, deleted_at_ms INTEGER,
  PRIMARY KEY (job_id, attempt_number)
) STRICT, WITHOUT ROWID;
-- The whole policy of retention: one row or none.
CREATE TABLE storage_policy (revision INTEGER NOT NULL, policy TEXT NOT NULL) STRICT;

-- The figures from the log of a run: JSON (understanding/stored-figures.ts).
CREATE TABLE run_figures (
  id INTEGER PRIMARY KEY, job_id TEXT NOT NULL, attempt_number INTEGER NOT NULL, figures TEXT NOT NULL,
  UNIQUE (job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT;
-- The same error of all runs. because: frames, exception, message. state: open, resolved, ignored.
CREATE TABLE error_groups (
  id INTEGER PRIMARY KEY, project TEXT NOT NULL, fingerprint TEXT NOT NULL, title TEXT NOT NULL, culprit TEXT NOT NULL,
  exception_type TEXT, because TEXT NOT NULL, state TEXT NOT NULL, state_at_ms INTEGER, reopened_at_ms INTEGER,
  first_seen_ms INTEGER NOT NULL, last_seen_ms INTEGER NOT NULL, first_version TEXT NOT NULL, count INTEGER NOT NULL,
  job_count INTEGER NOT NULL, UNIQUE (project, fingerprint)
) STRICT;
CREATE INDEX error_groups_by_last_seen ON error_groups (last_seen_ms);
CREATE INDEX error_groups_of_project ON error_groups (project, last_seen_ms);
-- How often one run logged it.
CREATE TABLE error_occurrences (
  group_id INTEGER NOT NULL REFERENCES error_groups (id) ON DELETE CASCADE, job_id TEXT NOT NULL,
  attempt_number INTEGER NOT NULL, spider TEXT NOT NULL, version TEXT NOT NULL, node_id TEXT NOT NULL,
  count INTEGER NOT NULL, first_seen_ms INTEGER NOT NULL, last_seen_ms INTEGER NOT NULL, line INTEGER NOT NULL,
  "offset" INTEGER NOT NULL, message TEXT NOT NULL, PRIMARY KEY (group_id, job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempts (job_id, number) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX error_occurrences_by_job ON error_occurrences (job_id, attempt_number);
CREATE INDEX error_occurrences_newest ON error_occurrences (group_id, last_seen_ms);
-- By spider, version and node (kind), and by hour since 1970: there are too many occurrences to count them.
CREATE TABLE error_spread (
  group_id INTEGER NOT NULL REFERENCES error_groups (id) ON DELETE CASCADE, kind TEXT NOT NULL, value TEXT NOT NULL,
  count INTEGER NOT NULL, run_count INTEGER NOT NULL, first_seen_ms INTEGER NOT NULL, last_seen_ms INTEGER NOT NULL,
  PRIMARY KEY (group_id, kind, value)
) STRICT, WITHOUT ROWID;
CREATE TABLE error_hours (
  group_id INTEGER NOT NULL REFERENCES error_groups (id) ON DELETE CASCADE, hour INTEGER NOT NULL,
  count INTEGER NOT NULL, PRIMARY KEY (group_id, hour)
) STRICT, WITHOUT ROWID;
-- What is unusual about the newest successful run of a spider (expectations): JSON.
CREATE TABLE spider_findings (
  project TEXT NOT NULL, spider TEXT NOT NULL, job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  ended_at_ms INTEGER NOT NULL, findings TEXT NOT NULL, dismissed INTEGER NOT NULL, PRIMARY KEY (project, spider)
) STRICT, WITHOUT ROWID;
CREATE INDEX spider_findings_by_job ON spider_findings (job_id);

-- logs_kept: Scrapyd's jobs_to_keep; null: not known. token_hash: SHA-256, of a node that pulls its jobs. kubernetes:
-- JSON, of a node that is a cluster.
CREATE TABLE nodes (
  id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, url TEXT NOT NULL, username TEXT,
  sealed_password TEXT, ca_certificate TEXT, slots INTEGER, tags TEXT NOT NULL, mode TEXT NOT NULL,
  scrapyd_version TEXT, added_at_ms INTEGER NOT NULL, queue_ahead INTEGER NOT NULL DEFAULT 0,
  give_up_after_seconds INTEGER, group_name TEXT, client_certificate TEXT, sealed_client_key TEXT,
  sealed_proxy_url TEXT, source_id TEXT, logs_kept INTEGER, token_hash TEXT, kubernetes TEXT
) STRICT;
CREATE TABLE discovery_sources (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL, settings TEXT NOT NULL,
  sealed_password TEXT
) STRICT;
-- Nodes that their source no longer lists.
CREATE TABLE vanished_nodes (
  node_id TEXT NOT NULL PRIMARY KEY, since_ms INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('cordoning', 'cordoned', 'left'))
) STRICT, WITHOUT ROWID;

CREATE TABLE versions (
  project TEXT NOT NULL, version TEXT NOT NULL, sha256 TEXT, size_bytes INTEGER, spiders TEXT,
  created_at_ms INTEGER NOT NULL, PRIMARY KEY (project, version)
) STRICT;
CREATE TABLE deployments (
  project TEXT NOT NULL, version TEXT NOT NULL, node_id TEXT NOT NULL, state TEXT NOT NULL, error TEXT,
  changed_at_ms INTEGER NOT NULL, sha256 TEXT, PRIMARY KEY (project, version, node_id),
  FOREIGN KEY (project, version) REFERENCES versions (project, version) ON DELETE CASCADE
) STRICT;
CREATE INDEX deployments_by_node ON deployments (node_id);
-- Without a reference to versions: settings outlive them.
CREATE TABLE project_settings (project TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL) STRICT;
CREATE TABLE limit_rules (
  position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT, spider TEXT, tag TEXT,
  per_node INTEGER NOT NULL, max INTEGER NOT NULL
) STRICT;
-- One revision for all rules, which are replaced together: one row.
CREATE TABLE limit_revision (revision INTEGER NOT NULL) STRICT;
INSERT INTO limit_revision VALUES (0);

-- settings: JSON; secret values are sealed. moved_at_ms: when its projects last changed; 0: never.
CREATE TABLE schedules (
  id TEXT NOT NULL PRIMARY KEY, revision INTEGER NOT NULL, name TEXT NOT NULL, settings TEXT NOT NULL,
  paused INTEGER NOT NULL, pause_note TEXT, paused_by TEXT, created_at_ms INTEGER NOT NULL,
  changed_at_ms INTEGER NOT NULL, crawl_key TEXT, crawl_order TEXT, moved_at_ms INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX schedules_by_name ON schedules (${name}, id);
CREATE INDEX schedules_paused ON schedules (paused_by, ${name}, id) WHERE paused = 1;
CREATE INDEX schedules_of_crawls ON schedules (crawl_key, created_at_ms) WHERE crawl_key IS NOT NULL;
-- Every moment up to done_until_ms has its row in firings, or was before the schedule began. Fired rows of moments
-- between pruned_* were pruned: whether a moment without a row has run is unknown. Firings up to
-- changed_after_firing_id were before its last change; a time would be ambiguous, because clocks are set back.
CREATE TABLE schedule_progress (
  schedule_id TEXT NOT NULL PRIMARY KEY REFERENCES schedules (id) ON DELETE CASCADE,
  done_until_ms INTEGER NOT NULL, run_count INTEGER NOT NULL, failures_in_a_row INTEGER NOT NULL,
  firing_count INTEGER NOT NULL, pruned_from_ms INTEGER, pruned_until_ms INTEGER,
  changed_after_firing_id INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
-- A separate statement deletes them with their schedule. Migration 3 drops filed and firings_new.
CREATE TABLE firings (
  id INTEGER PRIMARY KEY AUTOINCREMENT, schedule_id TEXT NOT NULL, nominal_ms INTEGER NOT NULL,
  origin TEXT NOT NULL CHECK (origin IN ('tick', 'manual', 'backfill')), backfill_id TEXT, at_ms INTEGER NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL, count INTEGER NOT NULL DEFAULT 1,
  job_ids TEXT NOT NULL DEFAULT '[]', filed INTEGER NOT NULL DEFAULT 0
) STRICT;
-- One firing per moment of a schedule, even if engines compete or die: a backfill does not repeat runs by the clock.
CREATE UNIQUE INDEX firings_once ON firings (nominal_ms, schedule_id) WHERE origin <> 'manual' AND state = 'fired';
CREATE INDEX firings_new ON firings (schedule_id, id) WHERE filed = 0;
CREATE INDEX firings_of_schedule ON firings (schedule_id, state, id) WHERE filed = 1;
CREATE INDEX firings_by_state ON firings (state, id);
CREATE INDEX firings_of_backfill ON firings (backfill_id) WHERE backfill_id IS NOT NULL;
-- The newest of each schedule. fired and failed: as of the last write; while it runs, its firings are counted.
CREATE TABLE backfills (
  schedule_id TEXT NOT NULL PRIMARY KEY REFERENCES schedules (id) ON DELETE CASCADE, revision INTEGER NOT NULL,
  id TEXT NOT NULL, from_ms INTEGER NOT NULL, until_ms INTEGER NOT NULL,
  direction TEXT NOT NULL CHECK (direction IN ('oldest_first', 'newest_first')), concurrency INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'cancelled')), total INTEGER NOT NULL,
  fired INTEGER NOT NULL, failed INTEGER NOT NULL,
  may_go_first INTEGER NOT NULL DEFAULT 0 CHECK (may_go_first IN (0, 1))
) STRICT, WITHOUT ROWID;

-- settings: JSON; secret values are sealed. enabled to condition: copies from the settings, to compare ends with.
CREATE TABLE chains (
  id TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL, enabled INTEGER NOT NULL, project TEXT NOT NULL,
  spider TEXT NOT NULL, condition TEXT NOT NULL, created_at_ms INTEGER NOT NULL,
  fired_count INTEGER NOT NULL DEFAULT 0, last_fired_at_ms INTEGER, problem TEXT
) STRICT;
-- Each chain answers the end of a job once: its row is written with the end, and stays while the job may end again.
CREATE TABLE chain_ends (
  job_id TEXT NOT NULL, chain_id TEXT NOT NULL REFERENCES chains (id) ON DELETE CASCADE,
  ended_at_ms INTEGER NOT NULL, answered_at_ms INTEGER, PRIMARY KEY (job_id, chain_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX chain_ends_due ON chain_ends (ended_at_ms) WHERE answered_at_ms IS NULL;
-- The chains that led to a job, which keeps a cycle of chains from running forever.
CREATE TABLE chain_lines (
  job_id TEXT NOT NULL, chain_id TEXT NOT NULL, PRIMARY KEY (job_id, chain_id)
) STRICT, WITHOUT ROWID;

-- Subscribers of events: webhooks, plugins with hooks, alert channels (channel: JSON, its target). waiting, dead and
-- delivered count its deliveries.
CREATE TABLE webhooks (
  id TEXT NOT NULL PRIMARY KEY, ${either('', `${kind},`)}
  name TEXT NOT NULL, url TEXT NOT NULL, events TEXT NOT NULL, project TEXT, enabled INTEGER NOT NULL,
  created_at_ms INTEGER NOT NULL, sealed_secret TEXT, sealed_old_secret TEXT,
  old_secret_until_ms INTEGER, last_delivered_at_ms INTEGER, problem TEXT, waiting INTEGER NOT NULL DEFAULT 0,
  dead INTEGER NOT NULL DEFAULT 0, dropped INTEGER NOT NULL DEFAULT 0, delivered INTEGER NOT NULL DEFAULT 0,
  channel TEXT${either(`, ${kind}`, '')}
) STRICT;
CREATE TABLE deliveries (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT, webhook_id TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  event TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'dead')),
  tries INTEGER NOT NULL, made_at_ms INTEGER NOT NULL, next_try_at_ms INTEGER, ended_at_ms INTEGER, answer TEXT
) STRICT;
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_try_at_ms, sequence) WHERE state = 'waiting';
CREATE INDEX deliveries_of_webhook ON deliveries (webhook_id, state, sequence);
CREATE INDEX deliveries_in_order ON deliveries (webhook_id, sequence);
CREATE INDEX deliveries_ended ON deliveries (state, ended_at_ms) WHERE ended_at_ms IS NOT NULL;

-- Rules, episodes and silences of alerts. state: pending, firing, calming, resolved. severity: 2: critical, 1: warning,
-- 0: info. settled: 1: ended, and all channels have its end.
CREATE TABLE alert_rules (
  id TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL, revision INTEGER NOT NULL, created_at_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE alert_silences (id TEXT NOT NULL PRIMARY KEY, silence TEXT NOT NULL, until_ms INTEGER NOT NULL) STRICT;
CREATE TABLE alerts (
  id TEXT NOT NULL PRIMARY KEY, rule_id TEXT NOT NULL, project TEXT, state TEXT NOT NULL, severity INTEGER NOT NULL,
  settled INTEGER NOT NULL, fired_at_ms INTEGER, ended_at_ms INTEGER, acknowledged INTEGER NOT NULL,
  episode TEXT NOT NULL
) STRICT;
CREATE INDEX alerts_open ON alerts (settled) WHERE settled = 0;
CREATE INDEX alerts_by_firing ON alerts (fired_at_ms);
CREATE INDEX alerts_by_rule ON alerts (rule_id, ended_at_ms);
CREATE INDEX alerts_by_end ON alerts (ended_at_ms);
CREATE TABLE alert_groups (id TEXT NOT NULL PRIMARY KEY, alert_group TEXT NOT NULL) STRICT;
-- The history that no other table keeps, for trying rules on it. value: null: the watched thing has disappeared.
CREATE TABLE alert_facts (
  id INTEGER PRIMARY KEY, watch TEXT NOT NULL, key TEXT NOT NULL, value REAL, since_ms INTEGER NOT NULL,
  at_ms INTEGER NOT NULL, subject TEXT NOT NULL, text TEXT NOT NULL, labels TEXT NOT NULL
) STRICT;
CREATE INDEX alert_facts_of_watch ON alert_facts (watch, at_ms, id);
CREATE INDEX alert_facts_by_time ON alert_facts (at_ms);
-- Reports. settings: a change restarts them. told_ms: the last reported due time.
CREATE TABLE alert_digests (
  channel_id TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL, told_ms INTEGER NOT NULL
) STRICT;
-- Open problems, as last reported to plugins.
CREATE TABLE told_problems (
  id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, severity TEXT NOT NULL CHECK (severity IN ('error', 'warning'))
) STRICT, WITHOUT ROWID;

-- role 'none': only those in projects (JSON: roles by project) and node_groups (JSON: roles by tag). password_hash
-- null: cannot log in. Sessions from before sessions_since_ms have ended. subject: the user's id at an identity
-- provider or proxy; null: a user of this Scrapdeck itself.
CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL CHECK (kind IN ('person', 'service')),
  role TEXT NOT NULL, enabled INTEGER NOT NULL, password_hash TEXT, created_at_ms INTEGER NOT NULL,
  sessions_since_ms INTEGER NOT NULL, last_seen_at_ms INTEGER, projects TEXT NOT NULL DEFAULT '{}',
  subject TEXT${either('', ' UNIQUE')}, vouched_at_ms INTEGER, node_groups TEXT NOT NULL DEFAULT '{}'
) STRICT;
${either('CREATE UNIQUE INDEX users_by_subject ON users (subject) WHERE subject IS NOT NULL;', '')}
-- user_id null: of the service's own password. hash: SHA-256. projects, node_groups: JSON: names; null: all.
CREATE TABLE access_tokens (
  id TEXT NOT NULL PRIMARY KEY, user_id TEXT, name TEXT NOT NULL, role TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
  ending TEXT NOT NULL, created_at_ms INTEGER NOT NULL, expires_at_ms INTEGER, last_used_at_ms INTEGER,
  projects TEXT, node_groups TEXT
) STRICT;
CREATE TABLE custom_roles (
  name TEXT NOT NULL PRIMARY KEY, description TEXT NOT NULL, permissions TEXT NOT NULL, created_at_ms INTEGER NOT NULL
) STRICT;
-- Members have its roles in addition to their own.
CREATE TABLE user_groups (
  id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL, role TEXT NOT NULL,
  projects TEXT NOT NULL, node_groups TEXT NOT NULL, created_at_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE group_members (
  group_id TEXT NOT NULL, user_id TEXT NOT NULL, PRIMARY KEY (group_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX group_members_by_user ON group_members (user_id);
-- used_step: time step of the last code; codes of this and earlier steps are refused.
CREATE TABLE authenticators (
  user_id TEXT NOT NULL PRIMARY KEY, sealed_secret TEXT NOT NULL, created_at_ms INTEGER NOT NULL,
  used_step INTEGER NOT NULL
) STRICT;
CREATE TABLE recovery_codes (
  user_id TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (user_id, hash)
) STRICT, WITHOUT ROWID;
-- credential_id: the authenticator's id. host: the only one at which it works.
CREATE TABLE passkeys (
  id TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, credential_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  host TEXT NOT NULL, public_key TEXT NOT NULL, sign_count INTEGER NOT NULL, created_at_ms INTEGER NOT NULL,
  last_used_at_ms INTEGER
) STRICT;
CREATE INDEX passkeys_by_user ON passkeys (user_id);

-- Who did or tried what. Entries are only appended, and deleted from the oldest on because of their age. record: JSON
-- of all hashed fields; hash: SHA-256 of the previous hash and the record.
CREATE TABLE audit (
  seq INTEGER NOT NULL PRIMARY KEY, at_ms INTEGER NOT NULL, operation TEXT NOT NULL, who TEXT NOT NULL, project TEXT,
  result TEXT NOT NULL, record TEXT NOT NULL, hash TEXT NOT NULL
) STRICT;
-- The start and the end of the log: one row, once there is an entry.
CREATE TABLE audit_chain (
  id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1), deleted_seq INTEGER NOT NULL, deleted_hash TEXT NOT NULL,
  newest_seq INTEGER NOT NULL, newest_hash TEXT NOT NULL
) STRICT;

CREATE TABLE settings (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT;
-- AUTOINCREMENT: no position is used twice, even after all of the log was pruned.
CREATE TABLE changes (position INTEGER PRIMARY KEY AUTOINCREMENT, noun TEXT NOT NULL, id TEXT NOT NULL) STRICT;
-- Responses to requests with an Idempotency-Key. answer: sealed; null until there is one.
CREATE TABLE remembered_answers (
  scope TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, begun_by TEXT NOT NULL, answer TEXT,
  expires_at_ms INTEGER NOT NULL, PRIMARY KEY (scope, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX remembered_answers_over ON remembered_answers (expires_at_ms);
`
}
