/**
 * Records which firings were written before a schedule's last change, by id, since a clock that is set back repeats
 * times. For existing schedules only times are known.
 */
export const changedAfterFiring = /* sql */ `
ALTER TABLE schedule_progress ADD COLUMN changed_after_firing_id INTEGER NOT NULL DEFAULT 0;
UPDATE schedule_progress SET changed_after_firing_id = before.id
  FROM (SELECT schedule_id, max(firings.id) AS id FROM firings JOIN schedules ON schedules.id = schedule_id
    WHERE at_ms < changed_at_ms GROUP BY schedule_id) AS before
  WHERE before.schedule_id = schedule_progress.schedule_id;
`
