/**
 * Which firings were written before a schedule was last changed: by their ids, since a clock that is set back gives the
 * same time twice. Of schedules that are there, times are all that is known.
 */
export const changedAfterFiring = /* sql */ `
ALTER TABLE schedule_progress ADD COLUMN changed_after_firing_id INTEGER NOT NULL DEFAULT 0;
UPDATE schedule_progress SET changed_after_firing_id = before.id
  FROM (SELECT schedule_id, max(firings.id) AS id FROM firings JOIN schedules ON schedules.id = schedule_id
    WHERE at_ms < changed_at_ms GROUP BY schedule_id) AS before
  WHERE before.schedule_id = schedule_progress.schedule_id;
`
