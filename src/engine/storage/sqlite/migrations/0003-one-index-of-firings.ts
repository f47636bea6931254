/**
 * Before, new firings were in a short index, and moved to the one by schedule while the store was idle. With a million
 * firings, that made a commit of a thousand 20 to 70 ms faster: no user can feel it.
 */
export const oneIndexOfFirings = /* sql */ `
DROP INDEX firings_new;
DROP INDEX firings_of_schedule;
ALTER TABLE firings DROP COLUMN filed;
CREATE INDEX firings_of_schedule ON firings (schedule_id, id);
`
