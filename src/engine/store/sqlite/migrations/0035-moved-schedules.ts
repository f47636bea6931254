/** When the projects of a schedule last changed; 0: never. Of one from before, any change may have been that. */
export const movedSchedules = /* sql */ `
ALTER TABLE schedules ADD COLUMN moved_at_ms INTEGER NOT NULL DEFAULT 0;
UPDATE schedules SET moved_at_ms = changed_at_ms WHERE revision > 1;
`
