/**
 * The initial schema. Instants are whole milliseconds since 1970; lists and maps are JSON text.
 *
 * `state` and `outcome` are authoritative; `status` combines them into one word for filters. Triggers maintain the
 * counters, so that no writer can forget them and no reader has to count a million rows.
 */
export const jobsAndFleet = /* sql */ `
CREATE TABLE jobs (
  id TEXT NOT NULL PRIMARY KEY,
  jobid TEXT NOT NULL,
  project TEXT NOT NULL,
  version TEXT,
  spider TEXT NOT NULL,
  settings TEXT NOT NULL,
  args TEXT NOT NULL,
  priority REAL NOT NULL,
  placement_node_id TEXT,
  placement_tags TEXT NOT NULL,
  lane TEXT NOT NULL,
  source TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'starting', 'running', 'ended')),
  outcome TEXT CHECK (outcome IN ('succeeded', 'failed', 'cancelled', 'lost')),
  status TEXT NOT NULL AS (coalesce(outcome, state)) VIRTUAL,
  reason TEXT,
  killing_line TEXT,
  node_id TEXT,
  attempt_count INTEGER NOT NULL DEFAULT 0,
  cancel_asked_at_ms INTEGER,
  cancelled_while_queued INTEGER NOT NULL DEFAULT 0,
  queued_at_ms INTEGER NOT NULL,
  started_at_ms INTEGER,
  ended_at_ms INTEGER,
  pages INTEGER,
  items INTEGER,
  errors INTEGER,
  CHECK ((state = 'ended') = (outcome IS NOT NULL)),
  CHECK (state <> 'queued' OR cancel_asked_at_ms IS NULL),
  CHECK ((state = 'ended') = (ended_at_ms IS NOT NULL))
) STRICT;

CREATE INDEX jobs_queue ON jobs (lane, priority DESC, id ASC) WHERE state = 'queued';
CREATE INDEX jobs_needing ON jobs (project, version) WHERE state <> 'ended';
CREATE INDEX jobs_ended ON jobs (ended_at_ms, outcome) WHERE state = 'ended';
CREATE INDEX jobs_by_status ON jobs (status, id);
CREATE INDEX jobs_by_project ON jobs (project, id);
CREATE INDEX jobs_by_spider ON jobs (project, spider, id);
CREATE INDEX jobs_by_node ON jobs (node_id, id) WHERE node_id IS NOT NULL;
CREATE INDEX jobs_by_own_jobid ON jobs (jobid) WHERE jobid <> id;

CREATE TABLE attempts (
  job_id TEXT NOT NULL REFERENCES jobs (id),
  number INTEGER NOT NULL,
  jobid TEXT NOT NULL,
  node_id TEXT NOT NULL,
  project TEXT NOT NULL,
  version TEXT NOT NULL,
  spider TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('sending', 'uncertain', 'accepted', 'running', 'finishing', 'ended')),
  result TEXT CHECK (result IN ('succeeded', 'failed', 'cancelled', 'lost', 'refused', 'absent')),
  reason TEXT,
  sent_at_ms INTEGER NOT NULL,
  accepted_at_ms INTEGER,
  started_at_ms INTEGER,
  ended_at_ms INTEGER,
  pid INTEGER,
  exit_code INTEGER,
  signal TEXT,
  stats TEXT,
  log_archived INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (job_id, number),
  CHECK ((state = 'ended') = (result IS NOT NULL))
) STRICT;

-- Invariant I2: a job has at most one live attempt.
CREATE UNIQUE INDEX attempts_live ON attempts (job_id) WHERE state <> 'ended';
-- A node must never be asked twice for the same jobid: Scrapyd would run it twice without a word.
CREATE UNIQUE INDEX attempts_on_node ON attempts (node_id, project, jobid);

CREATE TABLE transitions (
  sequence INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL REFERENCES jobs (id),
  attempt_number INTEGER,
  at_ms INTEGER NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  evidence TEXT NOT NULL
) STRICT;
CREATE INDEX transitions_by_job ON transitions (job_id);

CREATE TABLE nodes (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  url TEXT NOT NULL,
  username TEXT,
  sealed_password TEXT,
  ca_certificate TEXT,
  slots INTEGER,
  tags TEXT NOT NULL,
  mode TEXT NOT NULL,
  scrapyd_version TEXT,
  added_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE versions (
  project TEXT NOT NULL,
  version TEXT NOT NULL,
  sha256 TEXT,
  size_bytes INTEGER,
  spiders TEXT,
  created_at_ms INTEGER NOT NULL,
  PRIMARY KEY (project, version)
) STRICT;

CREATE TABLE deployments (
  project TEXT NOT NULL,
  version TEXT NOT NULL,
  node_id TEXT NOT NULL,
  state TEXT NOT NULL,
  error TEXT,
  changed_at_ms INTEGER NOT NULL,
  PRIMARY KEY (project, version, node_id),
  FOREIGN KEY (project, version) REFERENCES versions (project, version) ON DELETE CASCADE
) STRICT;
CREATE INDEX deployments_by_node ON deployments (node_id);

CREATE TABLE settings (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- AUTOINCREMENT: a position is never used twice, not even after the log was pruned to nothing.
CREATE TABLE changes (position INTEGER PRIMARY KEY AUTOINCREMENT, noun TEXT NOT NULL, id TEXT NOT NULL) STRICT;

CREATE TABLE state_counts (state TEXT NOT NULL PRIMARY KEY, count INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO state_counts VALUES ('queued', 0), ('starting', 0), ('running', 0), ('ended', 0);

CREATE TABLE facet_counts (
  status TEXT NOT NULL,
  project TEXT NOT NULL,
  node_id TEXT NOT NULL, -- '' where the job has had no node
  count INTEGER NOT NULL,
  PRIMARY KEY (status, project, node_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE queue_lanes (lane TEXT NOT NULL PRIMARY KEY, depth INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TRIGGER jobs_count_insert AFTER INSERT ON jobs BEGIN
  UPDATE state_counts SET count = count + 1 WHERE state = NEW.state;
  INSERT INTO facet_counts VALUES (NEW.status, NEW.project, coalesce(NEW.node_id, ''), 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER jobs_count_update AFTER UPDATE OF state, outcome, node_id ON jobs
WHEN OLD.status <> NEW.status OR OLD.node_id IS NOT NEW.node_id BEGIN
  UPDATE state_counts SET count = count - 1 WHERE state = OLD.state;
  UPDATE state_counts SET count = count + 1 WHERE state = NEW.state;
  UPDATE facet_counts SET count = count - 1
    WHERE status = OLD.status AND project = OLD.project AND node_id = coalesce(OLD.node_id, '');
  INSERT INTO facet_counts VALUES (NEW.status, NEW.project, coalesce(NEW.node_id, ''), 1)
    ON CONFLICT DO UPDATE SET count = count + 1;
END;

CREATE TRIGGER jobs_lane_insert AFTER INSERT ON jobs WHEN NEW.state = 'queued' BEGIN
  INSERT INTO queue_lanes VALUES (NEW.lane, 1) ON CONFLICT DO UPDATE SET depth = depth + 1;
END;

CREATE TRIGGER jobs_lane_enter AFTER UPDATE OF state ON jobs WHEN NEW.state = 'queued' AND OLD.state <> 'queued' BEGIN
  INSERT INTO queue_lanes VALUES (NEW.lane, 1) ON CONFLICT DO UPDATE SET depth = depth + 1;
END;

CREATE TRIGGER jobs_lane_leave AFTER UPDATE OF state ON jobs WHEN OLD.state = 'queued' AND NEW.state <> 'queued' BEGIN
  UPDATE queue_lanes SET depth = depth - 1 WHERE lane = NEW.lane;
  DELETE FROM queue_lanes WHERE lane = NEW.lane AND depth = 0;
END;
`
