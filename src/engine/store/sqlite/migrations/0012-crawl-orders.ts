/** Jobs know the user they were ordered for, and schedules the crawl order that created them. */
export const crawlOrders = /* sql */ `
ALTER TABLE jobs ADD COLUMN user_id TEXT;
-- As for schedules: the long-term one is written when a job ends. Jobs without a user cost nothing.
CREATE INDEX jobs_of_user_live ON jobs (user_id, id) WHERE user_id IS NOT NULL AND state <> 'ended';
CREATE INDEX jobs_of_user_ended ON jobs (user_id, status, id) WHERE user_id IS NOT NULL AND state = 'ended';

ALTER TABLE schedules ADD COLUMN crawl_key TEXT;
ALTER TABLE schedules ADD COLUMN crawl_order TEXT; -- JSON
CREATE INDEX schedules_of_crawls ON schedules (crawl_key, created_at_ms) WHERE crawl_key IS NOT NULL;
-- Until now a repeated order was found by its schedule's name, which ends with its key.
UPDATE schedules SET crawl_key = substr(name, -17, 16), crawl_order = '{"params":{},"atMs":null}'
  WHERE name GLOB 'Crawl * (' || replace(hex(zeroblob(8)), '0', '[0-9a-f]') || ')';
`
