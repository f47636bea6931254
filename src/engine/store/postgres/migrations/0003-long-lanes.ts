/**
 * A row of an index has at most 2,704 bytes, and the text of a lane may have more: its hash is in the indexes instead.
 * That of one lane is compared by `scrapdeck_same_lane`, which the planner opens, so that it finds the index; the
 * digest, which nobody can make equal for two lanes, keeps `queue_lanes` unique.
 *
 * Vacuum comes to the other tables whose rows are replaced or deleted all the time before their dead rows are many.
 */
export const longLanes = `
CREATE FUNCTION scrapdeck_same_lane(one text, other text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hashtextextended(one, 0) = hashtextextended(other, 0) AND one = other
$$;
CREATE FUNCTION scrapdeck_digest(value text) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT sha256(convert_to(value, 'UTF8'))
$$;
DROP INDEX jobs_queue;
CREATE INDEX jobs_queue ON jobs (hashtextextended(lane, 0), priority DESC, rank ASC, id ASC) WHERE state = 'queued' AND hold IS NULL;
ALTER TABLE queue_lanes DROP CONSTRAINT queue_lanes_pkey;
CREATE UNIQUE INDEX queue_lanes_by_lane ON queue_lanes (scrapdeck_digest(lane));

ALTER TABLE changes SET (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE deliveries SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE dedupe_keys SET (autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE remembered_answers SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01);
ALTER TABLE webhooks SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE schedule_progress SET (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
`
