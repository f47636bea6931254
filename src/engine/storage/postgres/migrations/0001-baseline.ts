/** The type of text columns. It compares byte by byte like SQLite, so that both databases sort ids and names alike. */
const TEXT = 'text COLLATE "C"'

const AT_ONCE = 'autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000'

/** All tables of version 20 and substitutes for SQLite's functions. SQLite's baseline describes the tables. */
export const baseline = /* sql */ `
CREATE FUNCTION scrapdeck_glob(pattern text, value text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT value ~ ('^' || replace(replace(replace(regexp_replace(
    replace(replace(pattern, '[[]', E'\\x01'), '[?]', E'\\x02'),
    '([.^$+(){}|\\\\?\\[\\]])', '\\\\\\1', 'g'), '*', '.*'), E'\\x01', '\\['), E'\\x02', '\\?') || '$')
$$;
CREATE FUNCTION scrapdeck_same_lane(one text, other text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hashtextextended(one, 0) = hashtextextended(other, 0) AND one = other
$$;
CREATE FUNCTION scrapdeck_digest(value text) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT sha256(convert_to(value, 'UTF8'))
$$;

CREATE TABLE jobs (
  id TEXT NOT NULL PRIMARY KEY, jobid TEXT NOT NULL, project TEXT NOT NULL, version TEXT, spider TEXT NOT NULL,
  settings TEXT NOT NULL, args TEXT NOT NULL, priority double precision NOT NULL, placement_node_id TEXT,
  placement_tags TEXT NOT NULL, lane TEXT NOT NULL, source TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'starting', 'running', 'ended')),
  outcome TEXT CHECK (outcome IN ('succeeded', 'failed', 'cancelled', 'lost', 'unclear')),
  status TEXT NOT NULL GENERATED ALWAYS AS (coalesce(outcome, state)) STORED, reason TEXT, killing_line TEXT,
  node_id TEXT, attempt_count bigint NOT NULL DEFAULT 0, cancel_asked_at_ms bigint,
  cancelled_while_queued bigint NOT NULL DEFAULT 0, queued_at_ms bigint NOT NULL, started_at_ms bigint,
  ended_at_ms bigint, pages bigint, items bigint, errors bigint, secret_names TEXT NOT NULL DEFAULT '[]', limits TEXT,
  retry TEXT, not_before_ms bigint, expires_at_ms bigint, overlap_key TEXT, after TEXT NOT NULL DEFAULT '[]',
  dedupe_key TEXT, hold TEXT, rank double precision NOT NULL DEFAULT 0, may_have_run_twice bigint NOT NULL DEFAULT 0,
  asked_text TEXT, asked_evidence TEXT, schedule_id TEXT, nominal_ms bigint, user_id TEXT,
  env TEXT NOT NULL DEFAULT '{}', sent_version TEXT, kept bigint NOT NULL DEFAULT 0,
  CHECK ((state = 'ended') = (outcome IS NOT NULL)),
  CHECK (state <> 'queued' OR cancel_asked_at_ms IS NULL),
  CHECK ((state = 'ended') = (ended_at_ms IS NOT NULL))
);
CREATE INDEX jobs_by_own_jobid ON jobs (jobid, id) WHERE jobid <> id;
CREATE INDEX jobs_ended ON jobs (ended_at_ms, id, outcome, project, spider) WHERE state = 'ended';
CREATE INDEX jobs_ended_badly ON jobs (outcome, id) WHERE outcome IN ('failed', 'cancelled', 'lost');
CREATE INDEX jobs_expiring ON jobs (expires_at_ms) WHERE state = 'queued' AND expires_at_ms IS NOT NULL;
CREATE INDEX jobs_held ON jobs (priority, rank) WHERE state = 'queued' AND hold IS NOT NULL;
CREATE INDEX jobs_listed ON jobs (project, spider, state, coalesce(outcome, ''), id);
CREATE INDEX jobs_not_before ON jobs (not_before_ms) WHERE state = 'queued' AND hold IN ('not_before', 'retry');
CREATE INDEX jobs_of_schedule_ended ON jobs (schedule_id, status, id) WHERE schedule_id IS NOT NULL AND state = 'ended';
CREATE INDEX jobs_of_schedule_live ON jobs (schedule_id, id) WHERE schedule_id IS NOT NULL AND state <> 'ended';
CREATE INDEX jobs_of_user_ended ON jobs (user_id, status, id) WHERE user_id IS NOT NULL AND state = 'ended';
CREATE INDEX jobs_of_user_live ON jobs (user_id, id) WHERE user_id IS NOT NULL AND state <> 'ended';
CREATE INDEX jobs_on_node ON jobs (node_id, project, spider, state, coalesce(outcome, ''), id)
  WHERE node_id IS NOT NULL;
CREATE UNIQUE INDEX jobs_overlap_live ON jobs (overlap_key)
  WHERE state IN ('starting', 'running') AND overlap_key IS NOT NULL;
CREATE INDEX jobs_overlap_waiting ON jobs (overlap_key, priority DESC, rank ASC)
  WHERE state = 'queued' AND hold = 'overlap';
-- A row of an index has at most 2,704 bytes, and the text of a lane may have more: its hash is in the indexes instead.
-- That of one lane is compared by scrapdeck_same_lane, which the planner opens, so that it finds the index; the digest,
-- which nobody can make equal for two lanes, keeps queue_lanes unique.
CREATE INDEX jobs_queue ON jobs (hashtextextended(lane, 0), priority DESC, rank ASC, id ASC)
  WHERE state = 'queued' AND hold IS NULL;

CREATE TABLE attempts (
  job_id TEXT NOT NULL REFERENCES jobs (id), number bigint NOT NULL, jobid TEXT NOT NULL, node_id TEXT NOT NULL,
  project TEXT NOT NULL, version TEXT NOT NULL, spider TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('sending', 'uncertain', 'accepted', 'running', 'finishing', 'ended')),
  result TEXT CHECK (result IN ('succeeded', 'failed', 'cancelled', 'lost', 'unclear', 'refused', 'absent')),
  reason TEXT, sent_at_ms bigint NOT NULL, accepted_at_ms bigint, started_at_ms bigint, ended_at_ms bigint, pid bigint,
  exit_code bigint, signal TEXT, stats TEXT, log_archived bigint NOT NULL DEFAULT 0, limit_hit TEXT,
  peak_memory_bytes bigint, cpu_seconds double precision, log_deleted_at_ms bigint,
  PRIMARY KEY (job_id, number),
  CHECK ((state = 'ended') = (result IS NOT NULL))
);
CREATE UNIQUE INDEX attempts_live ON attempts (job_id) WHERE state <> 'ended';
CREATE UNIQUE INDEX attempts_on_node ON attempts (node_id, project, jobid);

CREATE TABLE transitions (
  sequence bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, job_id TEXT NOT NULL REFERENCES jobs (id),
  attempt_number bigint, at_ms bigint NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL, evidence TEXT NOT NULL
);
CREATE INDEX transitions_by_job ON transitions (job_id);

CREATE TABLE job_dependencies (
  job_id TEXT NOT NULL REFERENCES jobs (id), on_job_id TEXT NOT NULL REFERENCES jobs (id),
  condition TEXT NOT NULL CHECK (condition IN ('succeeded', 'failed', 'ended')),
  PRIMARY KEY (on_job_id, job_id, condition)
);
CREATE INDEX job_dependencies_of ON job_dependencies (job_id);

CREATE TABLE dedupe_keys (key TEXT NOT NULL PRIMARY KEY, job_id TEXT NOT NULL, expires_at_ms bigint NOT NULL);
CREATE INDEX dedupe_keys_expiring ON dedupe_keys (expires_at_ms);

CREATE TABLE queue_ends (front double precision NOT NULL, back double precision NOT NULL);
INSERT INTO queue_ends VALUES (0, 0);
CREATE TABLE queue_lanes (lane TEXT NOT NULL, depth bigint NOT NULL);
CREATE UNIQUE INDEX queue_lanes_by_lane ON queue_lanes (scrapdeck_digest(lane));
CREATE TABLE state_counts (state TEXT NOT NULL PRIMARY KEY, count bigint NOT NULL);
INSERT INTO state_counts VALUES ('queued', 0), ('starting', 0), ('running', 0), ('ended', 0);
CREATE TABLE job_counts (
  project TEXT NOT NULL, spider TEXT NOT NULL, status TEXT NOT NULL, node_id TEXT NOT NULL, count bigint NOT NULL,
  PRIMARY KEY (project, spider, status, node_id)
);
CREATE TABLE ended_counts (
  from_id TEXT NOT NULL, project TEXT NOT NULL, spider TEXT NOT NULL, status TEXT NOT NULL, node_id TEXT NOT NULL,
  count bigint NOT NULL, PRIMARY KEY (from_id, project, spider, status, node_id)
);
CREATE TABLE ended_jobs (
  project TEXT NOT NULL, spider TEXT NOT NULL, count bigint NOT NULL, PRIMARY KEY (project, spider)
);

CREATE TABLE archived_logs (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, job_id TEXT NOT NULL, attempt_number bigint NOT NULL,
  packed bytea NOT NULL, raw_bytes bigint, stored_bytes bigint, UNIQUE (job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempts (job_id, number) ON DELETE CASCADE
);
CREATE INDEX archived_logs_sizes ON archived_logs (
  job_id, attempt_number, coalesce(stored_bytes, length(packed)), length(packed)
);
CREATE TABLE log_sums (
  project TEXT NOT NULL PRIMARY KEY, count bigint NOT NULL, bytes bigint NOT NULL, packed_bytes bigint NOT NULL
);
CREATE TABLE deleted_logs (job_id TEXT NOT NULL, attempt_number bigint NOT NULL, PRIMARY KEY (job_id, attempt_number));
CREATE TABLE log_blocks (
  job_id TEXT NOT NULL, attempt_number bigint NOT NULL, raw_bytes bigint NOT NULL, first_block bigint,
  whole_blocks bigint NOT NULL, tail_block bigint, PRIMARY KEY (job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES archived_logs (job_id, attempt_number) ON DELETE CASCADE
);
CREATE TABLE kept_items (
  job_id TEXT NOT NULL, attempt_number bigint NOT NULL, project TEXT NOT NULL, spider TEXT NOT NULL,
  ended_at_ms bigint NOT NULL, raw_bytes bigint, stored_bytes bigint, problem TEXT, deleted_at_ms bigint,
  PRIMARY KEY (job_id, attempt_number)
);
CREATE TABLE storage_policy (revision bigint NOT NULL, policy TEXT NOT NULL);

CREATE TABLE run_figures (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, job_id TEXT NOT NULL, attempt_number bigint NOT NULL,
  figures TEXT NOT NULL, UNIQUE (job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempts (job_id, number) ON DELETE CASCADE
);
CREATE TABLE error_groups (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, project TEXT NOT NULL, fingerprint TEXT NOT NULL,
  title TEXT NOT NULL, culprit TEXT NOT NULL, exception_type TEXT, because TEXT NOT NULL, state TEXT NOT NULL,
  state_at_ms bigint, reopened_at_ms bigint, first_seen_ms bigint NOT NULL, last_seen_ms bigint NOT NULL,
  first_version TEXT NOT NULL, count bigint NOT NULL, job_count bigint NOT NULL,
  UNIQUE (project, fingerprint)
);
CREATE INDEX error_groups_by_last_seen ON error_groups (last_seen_ms);
CREATE INDEX error_groups_of_project ON error_groups (project, last_seen_ms);
CREATE TABLE error_occurrences (
  group_id bigint NOT NULL REFERENCES error_groups (id) ON DELETE CASCADE, job_id TEXT NOT NULL,
  attempt_number bigint NOT NULL, spider TEXT NOT NULL, version TEXT NOT NULL, node_id TEXT NOT NULL,
  count bigint NOT NULL, first_seen_ms bigint NOT NULL, last_seen_ms bigint NOT NULL, line bigint NOT NULL,
  "offset" bigint NOT NULL, message TEXT NOT NULL,
  PRIMARY KEY (group_id, job_id, attempt_number),
  FOREIGN KEY (job_id, attempt_number) REFERENCES attempts (job_id, number) ON DELETE CASCADE
);
CREATE INDEX error_occurrences_by_job ON error_occurrences (job_id, attempt_number);
CREATE INDEX error_occurrences_newest ON error_occurrences (group_id, last_seen_ms);
CREATE TABLE error_spread (
  group_id bigint NOT NULL REFERENCES error_groups (id) ON DELETE CASCADE, kind TEXT NOT NULL, value TEXT NOT NULL,
  count bigint NOT NULL, run_count bigint NOT NULL, first_seen_ms bigint NOT NULL, last_seen_ms bigint NOT NULL,
  PRIMARY KEY (group_id, kind, value)
);
CREATE TABLE error_hours (
  group_id bigint NOT NULL REFERENCES error_groups (id) ON DELETE CASCADE, hour bigint NOT NULL, count bigint NOT NULL,
  PRIMARY KEY (group_id, hour)
);
CREATE TABLE spider_findings (
  project TEXT NOT NULL, spider TEXT NOT NULL, job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  ended_at_ms bigint NOT NULL, findings TEXT NOT NULL, dismissed bigint NOT NULL, PRIMARY KEY (project, spider)
);
CREATE INDEX spider_findings_by_job ON spider_findings (job_id);

CREATE TABLE nodes (
  id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, url TEXT NOT NULL, username TEXT,
  sealed_password TEXT, ca_certificate TEXT, slots bigint, tags TEXT NOT NULL, mode TEXT NOT NULL, scrapyd_version TEXT,
  added_at_ms bigint NOT NULL, queue_ahead bigint NOT NULL DEFAULT 0, give_up_after_seconds bigint, group_name TEXT,
  client_certificate TEXT, sealed_client_key TEXT, sealed_proxy_url TEXT, source_id TEXT, logs_kept bigint,
  token_hash TEXT, kubernetes TEXT
);
CREATE TABLE discovery_sources (
  position bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE, revision bigint NOT NULL,
  settings TEXT NOT NULL, sealed_password TEXT
);
CREATE TABLE vanished_nodes (
  node_id TEXT NOT NULL PRIMARY KEY, since_ms bigint NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('cordoning', 'cordoned', 'left'))
);

CREATE TABLE versions (
  project TEXT NOT NULL, version TEXT NOT NULL, sha256 TEXT, size_bytes bigint, spiders TEXT,
  created_at_ms bigint NOT NULL, PRIMARY KEY (project, version)
);
CREATE TABLE deployments (
  project TEXT NOT NULL, version TEXT NOT NULL, node_id TEXT NOT NULL, state TEXT NOT NULL, error TEXT,
  changed_at_ms bigint NOT NULL, sha256 TEXT,
  PRIMARY KEY (project, version, node_id),
  FOREIGN KEY (project, version) REFERENCES versions (project, version) ON DELETE CASCADE
);
CREATE INDEX deployments_by_node ON deployments (node_id);
CREATE TABLE project_settings (project TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL);
CREATE TABLE limit_rules (
  position bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, id TEXT NOT NULL UNIQUE, project TEXT, spider TEXT,
  tag TEXT, per_node bigint NOT NULL, max bigint NOT NULL
);
CREATE TABLE limit_revision (revision bigint NOT NULL);
INSERT INTO limit_revision VALUES (0);

CREATE TABLE schedules (
  id TEXT NOT NULL PRIMARY KEY, revision bigint NOT NULL, name TEXT NOT NULL, settings TEXT NOT NULL,
  paused bigint NOT NULL, pause_note TEXT, paused_by TEXT, created_at_ms bigint NOT NULL, changed_at_ms bigint NOT NULL,
  crawl_key TEXT, crawl_order TEXT, moved_at_ms bigint NOT NULL DEFAULT 0
);
CREATE INDEX schedules_by_name ON schedules (lower(name), id);
CREATE INDEX schedules_of_crawls ON schedules (crawl_key, created_at_ms) WHERE crawl_key IS NOT NULL;
CREATE INDEX schedules_paused ON schedules (paused_by, lower(name), id) WHERE paused = 1;
CREATE TABLE schedule_progress (
  schedule_id TEXT NOT NULL PRIMARY KEY REFERENCES schedules (id) ON DELETE CASCADE, done_until_ms bigint NOT NULL,
  run_count bigint NOT NULL, failures_in_a_row bigint NOT NULL, firing_count bigint NOT NULL, pruned_from_ms bigint,
  pruned_until_ms bigint, changed_after_firing_id bigint NOT NULL DEFAULT 0
);
CREATE TABLE firings (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, schedule_id TEXT NOT NULL, nominal_ms bigint NOT NULL,
  origin TEXT NOT NULL CHECK (origin IN ('tick', 'manual', 'backfill')), backfill_id TEXT, at_ms bigint NOT NULL,
  state TEXT NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL, count bigint NOT NULL DEFAULT 1,
  job_ids TEXT NOT NULL DEFAULT '[]', filed bigint NOT NULL DEFAULT 0
);
CREATE INDEX firings_by_state ON firings (state, id);
CREATE INDEX firings_new ON firings (schedule_id, id) WHERE filed = 0;
CREATE INDEX firings_of_backfill ON firings (backfill_id) WHERE backfill_id IS NOT NULL;
CREATE INDEX firings_of_schedule ON firings (schedule_id, state, id) WHERE filed = 1;
CREATE UNIQUE INDEX firings_once ON firings (nominal_ms, schedule_id) WHERE origin <> 'manual' AND state = 'fired';
CREATE TABLE backfills (
  schedule_id TEXT NOT NULL PRIMARY KEY REFERENCES schedules (id) ON DELETE CASCADE, revision bigint NOT NULL,
  id TEXT NOT NULL, from_ms bigint NOT NULL, until_ms bigint NOT NULL,
  direction TEXT NOT NULL CHECK (direction IN ('oldest_first', 'newest_first')), concurrency bigint NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'done', 'cancelled')), total bigint NOT NULL, fired bigint NOT NULL,
  failed bigint NOT NULL, may_go_first bigint NOT NULL DEFAULT 0 CHECK (may_go_first IN (0, 1))
);

CREATE TABLE chains (
  id TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL, enabled bigint NOT NULL, project TEXT NOT NULL,
  spider TEXT NOT NULL, condition TEXT NOT NULL, created_at_ms bigint NOT NULL, fired_count bigint NOT NULL DEFAULT 0,
  last_fired_at_ms bigint, problem TEXT
);
CREATE TABLE chain_ends (
  job_id TEXT NOT NULL, chain_id TEXT NOT NULL REFERENCES chains (id) ON DELETE CASCADE, ended_at_ms bigint NOT NULL,
  answered_at_ms bigint, PRIMARY KEY (job_id, chain_id)
);
CREATE INDEX chain_ends_due ON chain_ends (ended_at_ms) WHERE answered_at_ms IS NULL;
CREATE TABLE chain_lines (job_id TEXT NOT NULL, chain_id TEXT NOT NULL, PRIMARY KEY (job_id, chain_id));

CREATE TABLE webhooks (
  id TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL CHECK (kind IN ('webhook', 'plugin', 'channel')), name TEXT NOT NULL,
  url TEXT NOT NULL, events TEXT NOT NULL, project TEXT, enabled bigint NOT NULL, created_at_ms bigint NOT NULL,
  sealed_secret TEXT, sealed_old_secret TEXT, old_secret_until_ms bigint, last_delivered_at_ms bigint, problem TEXT,
  waiting bigint NOT NULL DEFAULT 0, dead bigint NOT NULL DEFAULT 0, dropped bigint NOT NULL DEFAULT 0,
  delivered bigint NOT NULL DEFAULT 0, channel TEXT
);
CREATE TABLE deliveries (
  sequence bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
  webhook_id TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE, event TEXT NOT NULL, body TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'dead')), tries bigint NOT NULL,
  made_at_ms bigint NOT NULL, next_try_at_ms bigint, ended_at_ms bigint, answer TEXT
);
CREATE INDEX deliveries_due ON deliveries (webhook_id, next_try_at_ms, sequence) WHERE state = 'waiting';
CREATE INDEX deliveries_ended ON deliveries (state, ended_at_ms) WHERE ended_at_ms IS NOT NULL;
CREATE INDEX deliveries_in_order ON deliveries (webhook_id, sequence);
CREATE INDEX deliveries_of_webhook ON deliveries (webhook_id, state, sequence);

CREATE TABLE alert_rules (
  id TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL, revision bigint NOT NULL, created_at_ms bigint NOT NULL
);
CREATE TABLE alert_silences (id TEXT NOT NULL PRIMARY KEY, silence TEXT NOT NULL, until_ms bigint NOT NULL);
CREATE TABLE alerts (
  id TEXT NOT NULL PRIMARY KEY, rule_id TEXT NOT NULL, project TEXT, state TEXT NOT NULL, severity bigint NOT NULL,
  settled bigint NOT NULL, fired_at_ms bigint, ended_at_ms bigint, acknowledged bigint NOT NULL, episode TEXT NOT NULL
);
CREATE INDEX alerts_open ON alerts (settled) WHERE settled = 0;
CREATE INDEX alerts_by_firing ON alerts (fired_at_ms);
CREATE INDEX alerts_by_rule ON alerts (rule_id, ended_at_ms);
CREATE INDEX alerts_by_end ON alerts (ended_at_ms);
CREATE TABLE alert_groups (id TEXT NOT NULL PRIMARY KEY, alert_group TEXT NOT NULL);
CREATE TABLE alert_facts (
  id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, watch TEXT NOT NULL, key TEXT NOT NULL,
  value double precision, since_ms bigint NOT NULL, at_ms bigint NOT NULL, subject TEXT NOT NULL, text TEXT NOT NULL,
  labels TEXT NOT NULL
);
CREATE INDEX alert_facts_of_watch ON alert_facts (watch, at_ms, id);
CREATE INDEX alert_facts_by_time ON alert_facts (at_ms);
CREATE TABLE alert_digests (channel_id TEXT NOT NULL PRIMARY KEY, settings TEXT NOT NULL, told_ms bigint NOT NULL);
CREATE TABLE told_problems (
  id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL, severity TEXT NOT NULL CHECK (severity IN ('error', 'warning'))
);

CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL CHECK (kind IN ('person', 'service')),
  role TEXT NOT NULL, enabled bigint NOT NULL, password_hash TEXT, created_at_ms bigint NOT NULL,
  sessions_since_ms bigint NOT NULL, last_seen_at_ms bigint, projects TEXT NOT NULL DEFAULT '{}', subject TEXT UNIQUE,
  vouched_at_ms bigint, node_groups TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE access_tokens (
  id TEXT NOT NULL PRIMARY KEY, user_id TEXT, name TEXT NOT NULL, role TEXT NOT NULL, hash TEXT NOT NULL UNIQUE,
  ending TEXT NOT NULL, created_at_ms bigint NOT NULL, expires_at_ms bigint, last_used_at_ms bigint, projects TEXT,
  node_groups TEXT
);
CREATE TABLE custom_roles (
  name TEXT NOT NULL PRIMARY KEY, description TEXT NOT NULL, permissions TEXT NOT NULL, created_at_ms bigint NOT NULL
);
CREATE TABLE user_groups (
  id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL, role TEXT NOT NULL,
  projects TEXT NOT NULL, node_groups TEXT NOT NULL, created_at_ms bigint NOT NULL
);
CREATE TABLE group_members (group_id TEXT NOT NULL, user_id TEXT NOT NULL, PRIMARY KEY (group_id, user_id));
CREATE INDEX group_members_by_user ON group_members (user_id);
CREATE TABLE authenticators (
  user_id TEXT NOT NULL PRIMARY KEY, sealed_secret TEXT NOT NULL, created_at_ms bigint NOT NULL,
  used_step bigint NOT NULL
);
CREATE TABLE recovery_codes (user_id TEXT NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (user_id, hash));
CREATE TABLE passkeys (
  id TEXT NOT NULL PRIMARY KEY, user_id TEXT NOT NULL, credential_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
  host TEXT NOT NULL, public_key TEXT NOT NULL, sign_count bigint NOT NULL, created_at_ms bigint NOT NULL,
  last_used_at_ms bigint
);
CREATE INDEX passkeys_by_user ON passkeys (user_id);

CREATE TABLE audit (
  seq bigint NOT NULL PRIMARY KEY, at_ms bigint NOT NULL, operation TEXT NOT NULL, who TEXT NOT NULL, project TEXT,
  result TEXT NOT NULL, record TEXT NOT NULL, hash TEXT NOT NULL
);
CREATE TABLE audit_chain (
  id bigint NOT NULL PRIMARY KEY CHECK (id = 1), deleted_seq bigint NOT NULL, deleted_hash TEXT NOT NULL,
  newest_seq bigint NOT NULL, newest_hash TEXT NOT NULL
);

CREATE TABLE settings (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE changes (
  position bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, noun TEXT NOT NULL, id TEXT NOT NULL
);
CREATE TABLE remembered_answers (
  scope TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, begun_by TEXT NOT NULL, answer TEXT,
  expires_at_ms bigint NOT NULL, PRIMARY KEY (scope, key)
);
CREATE INDEX remembered_answers_over ON remembered_answers (expires_at_ms);

CREATE TABLE last_forgotten_change (position bigint NOT NULL);
INSERT INTO last_forgotten_change VALUES (0);
CREATE FUNCTION remember_forgotten_changes() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE last_forgotten_change
      SET position = greatest(position, (SELECT coalesce(max(gone.position), 0) FROM gone)); RETURN NULL; END $$;
CREATE TRIGGER changes_forgotten AFTER DELETE ON changes REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION remember_forgotten_changes();

-- Who uses this namespace, and who of them leads: engine_lease has one row. A term is one engine's time as the leader.
-- next: who is to follow after a handover; until next_until no other engine may.
CREATE TABLE engine_lease (
  id bigint PRIMARY KEY CHECK (id = 1), epoch bigint NOT NULL, holder text, has_lock boolean NOT NULL,
  expires_at timestamptz NOT NULL, next text, next_until timestamptz
);
INSERT INTO engine_lease (id, epoch, holder, has_lock, expires_at) VALUES (1, 0, NULL, false, 'epoch');
CREATE TABLE engine_terms (
  epoch bigint PRIMARY KEY, engine text NOT NULL, since timestamptz NOT NULL, reason text NOT NULL
);
-- blobs: where it keeps eggs and logs; those of one database need the same place. certificate: by which an engine that
-- speaks TLS is recognized (PEM); the others trust it alone. Empty: plain HTTP.
CREATE TABLE engines (
  id text PRIMARY KEY, name text NOT NULL, address text NOT NULL, version text NOT NULL,
  started_at timestamptz NOT NULL, seen_at timestamptz NOT NULL, is_drained boolean NOT NULL DEFAULT false,
  has_local_node boolean NOT NULL DEFAULT false, blobs text NOT NULL DEFAULT '', certificate text NOT NULL DEFAULT ''
);
-- What all engines of a namespace must have in common.
CREATE TABLE engine_common (name text PRIMARY KEY, value text NOT NULL);
-- How each transaction of a leader begins: it waits for the lock of writers (group-commit.ts), then holds the lease,
-- and fails if it is another engine's by now.
CREATE FUNCTION begin_write(writers bigint, namespace bigint, wanted_holder text, wanted_epoch bigint)
  RETURNS void LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM pg_advisory_xact_lock(writers::int, namespace::int); PERFORM 1 FROM engine_lease
      WHERE holder = wanted_holder AND epoch = wanted_epoch FOR SHARE; IF NOT FOUND THEN
        RAISE EXCEPTION 'another engine leads' USING ERRCODE = 'SD002'; END IF; END $$;

-- Tables whose rows change often leave room in their pages, so that an update stays in its page and touches no index;
-- vacuum comes to them before their dead rows are many.
ALTER TABLE jobs SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE attempts SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE job_counts SET (fillfactor = 50, ${AT_ONCE});
ALTER TABLE ended_counts SET (fillfactor = 50, ${AT_ONCE});
ALTER TABLE ended_jobs SET (fillfactor = 50, ${AT_ONCE});
ALTER TABLE state_counts SET (fillfactor = 10, ${AT_ONCE});
ALTER TABLE queue_ends SET (fillfactor = 10, ${AT_ONCE});
ALTER TABLE queue_lanes SET (fillfactor = 50, ${AT_ONCE});
ALTER TABLE log_sums SET (fillfactor = 50, ${AT_ONCE});
ALTER TABLE changes SET (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE deliveries SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE dedupe_keys SET (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE remembered_answers SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE webhooks SET (fillfactor = 50, ${AT_ONCE});
ALTER TABLE schedule_progress SET (fillfactor = 50, ${AT_ONCE});
`.replaceAll(/\bTEXT\b/g, TEXT)
