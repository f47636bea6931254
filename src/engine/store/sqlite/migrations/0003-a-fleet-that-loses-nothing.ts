// Tags may no longer contain blanks, `|` or `!`, which are the syntax of tag terms. Existing tags get dashes instead,
// on nodes and in placements of jobs alike, so that they still match and lists of them stay readable.
const CHARACTERS_OF_TERMS = [9, 10, 11, 12, 13, 32, 33, 124, 160, 5760, 8232, 8233, 8239, 8287, 12288, 65279]
const DASHED_TAG = [...CHARACTERS_OF_TERMS, ...Array.from({ length: 11 }, (_, index) => 8192 + index)].reduce(
  (tag, code) => `replace(${tag}, char(${code}), '-')`,
  'value'
)
const dashedTags = (column: string) =>
  `(SELECT json_group_array(${DASHED_TAG}) FROM json_each(${column}) WHERE value <> '')`

/** Holds of queued jobs, their rank in the queue and retry policy; policies and connections of nodes. */
export const aFleetThatLosesNothing = /* sql */ `
ALTER TABLE jobs ADD COLUMN retry TEXT;
ALTER TABLE jobs ADD COLUMN not_before_ms INTEGER;
ALTER TABLE jobs ADD COLUMN expires_at_ms INTEGER;
ALTER TABLE jobs ADD COLUMN overlap_key TEXT;
ALTER TABLE jobs ADD COLUMN after TEXT NOT NULL DEFAULT '[]';
ALTER TABLE jobs ADD COLUMN dedupe_key TEXT;
ALTER TABLE jobs ADD COLUMN hold TEXT;
ALTER TABLE jobs ADD COLUMN rank REAL NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN may_have_run_twice INTEGER NOT NULL DEFAULT 0;
UPDATE nodes SET tags = ${dashedTags('tags')};
UPDATE jobs SET placement_tags = ${dashedTags('placement_tags')} WHERE placement_tags <> '[]';
-- Jobs are queued in the order of their rows.
UPDATE jobs SET rank = rowid;
-- Spiders have lanes of their own now: limits are counted by spider.
UPDATE jobs SET lane = json_array(project, version, placement_node_id, json(placement_tags), spider);
DELETE FROM queue_lanes;
INSERT INTO queue_lanes SELECT lane, count(*) FROM jobs WHERE state = 'queued' GROUP BY lane;

DROP INDEX jobs_queue;
CREATE INDEX jobs_queue ON jobs (lane, priority DESC, rank ASC, id ASC) WHERE state = 'queued' AND hold IS NULL;
CREATE INDEX jobs_not_before ON jobs (not_before_ms) WHERE state = 'queued' AND hold IN ('not_before', 'retry');
CREATE INDEX jobs_expiring ON jobs (expires_at_ms) WHERE state = 'queued' AND expires_at_ms IS NOT NULL;
CREATE INDEX jobs_overlap_waiting ON jobs (overlap_key, priority DESC, rank ASC) WHERE state = 'queued' AND hold = 'overlap';
CREATE INDEX jobs_held ON jobs (priority, rank) WHERE state = 'queued' AND hold IS NOT NULL;
-- No two live runs of one overlap key, whatever happens.
CREATE UNIQUE INDEX jobs_overlap_live ON jobs (overlap_key) WHERE state IN ('starting', 'running') AND overlap_key IS NOT NULL;

CREATE TABLE job_dependencies (
  job_id TEXT NOT NULL REFERENCES jobs (id),
  on_job_id TEXT NOT NULL REFERENCES jobs (id),
  condition TEXT NOT NULL CHECK (condition IN ('succeeded', 'failed', 'ended')),
  PRIMARY KEY (on_job_id, job_id, condition)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_dependencies_of ON job_dependencies (job_id);

CREATE TABLE dedupe_keys (
  key TEXT NOT NULL PRIMARY KEY,
  job_id TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX dedupe_keys_expiring ON dedupe_keys (expires_at_ms);

-- The ranks given out last at either end of the queue: one row.
CREATE TABLE queue_ends (front REAL NOT NULL, back REAL NOT NULL) STRICT;
INSERT INTO queue_ends SELECT 0, coalesce(max(rowid), 0) FROM jobs;

DROP TRIGGER jobs_lane_insert;
DROP TRIGGER jobs_lane_enter;
DROP TRIGGER jobs_lane_leave;
CREATE TRIGGER jobs_lane_insert AFTER INSERT ON jobs WHEN NEW.state = 'queued' AND NEW.hold IS NULL BEGIN
  INSERT INTO queue_lanes VALUES (NEW.lane, 1) ON CONFLICT DO UPDATE SET depth = depth + 1;
END;
CREATE TRIGGER jobs_lane_leave AFTER UPDATE OF state, hold, lane ON jobs
WHEN OLD.state = 'queued' AND OLD.hold IS NULL AND (NEW.state <> 'queued' OR NEW.hold IS NOT NULL OR NEW.lane <> OLD.lane) BEGIN
  UPDATE queue_lanes SET depth = depth - 1 WHERE lane = OLD.lane;
  DELETE FROM queue_lanes WHERE lane = OLD.lane AND depth = 0;
END;
CREATE TRIGGER jobs_lane_enter AFTER UPDATE OF state, hold, lane ON jobs
WHEN NEW.state = 'queued' AND NEW.hold IS NULL AND (OLD.state <> 'queued' OR OLD.hold IS NOT NULL OR NEW.lane <> OLD.lane) BEGIN
  INSERT INTO queue_lanes VALUES (NEW.lane, 1) ON CONFLICT DO UPDATE SET depth = depth + 1;
END;

ALTER TABLE nodes ADD COLUMN queue_ahead INTEGER NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN give_up_after_seconds INTEGER;
ALTER TABLE nodes ADD COLUMN group_name TEXT;
ALTER TABLE nodes ADD COLUMN client_certificate TEXT;
ALTER TABLE nodes ADD COLUMN sealed_client_key TEXT;
ALTER TABLE nodes ADD COLUMN sealed_proxy_url TEXT;
ALTER TABLE nodes ADD COLUMN source_id TEXT;

ALTER TABLE deployments ADD COLUMN sha256 TEXT;
-- Until now only what we sent counted as present.
UPDATE deployments SET sha256 = (SELECT sha256 FROM versions
  WHERE versions.project = deployments.project AND versions.version = deployments.version) WHERE state = 'present';
`
