/**
 * Removes a small index of new firings. While the store was idle, firings moved from it to the index by schedule. With
 * a million firings, this made a commit of a thousand only 20 to 70 ms faster, which no user notices.
 */
export const oneIndexOfFirings = /* sql */ `
DROP INDEX firings_new;
DROP INDEX firings_of_schedule;
ALTER TABLE firings DROP COLUMN filed;
CREATE INDEX firings_of_schedule ON firings (schedule_id, id);
`
