import { EventEmitter } from 'node:events'
import { actAs } from '../access/acting.ts'
import type { JobCommands } from '../commands/job-commands.ts'
import { prepareJobs, type PrepareJobsParts, requireSpiders } from '../commands/prepare-jobs.ts'
import { ScheduleCommands } from '../commands/schedule-commands.ts'
import { ScheduleReads } from '../commands/schedule-reads.ts'
import { openTemplate } from '../commands/template-secrets.ts'
import { Scheduler } from '../schedules/scheduler.ts'
import type { StoredFiring } from '../store/records.ts'
import type { Base } from './base.ts'

/** Schedules: their commands, and the ticker that fires them. */
export function wireSchedules(
  base: Base,
  parts: {
    preparing: PrepareJobsParts
    jobCommands: Pick<JobCommands, 'cancel'>
    wakeDispatcher: () => void
    slots: () => number
  }
) {
  const { secretBox } = base
  const { preparing, jobCommands, wakeDispatcher, slots } = parts
  /** `fired`: firings were recorded. `changed`: a schedule was changed, or it paused itself. */
  const events = new EventEmitter<{ fired: [firings: StoredFiring[]]; changed: [] }>()
  const scheduler = new Scheduler({
    ...base,
    prepare: (items, origin) => prepareJobs(items, origin, preparing),
    requireSpiders: (template) => requireSpiders(template, preparing.projects.catalog),
    openTemplate: (template) => openTemplate(template, secretBox),
    onJobs: wakeDispatcher,
    onFired: (firings) => events.emit('fired', firings),
    onPaused: () => events.emit('changed'),
    cancel: (jobIds) => actAs(null, () => jobCommands.cancel(jobIds, { force: false }))
  })
  const reads = new ScheduleReads({ ...base, scheduler, slots })
  const onChange = () => events.emit('changed')
  const commands = new ScheduleCommands({ ...base, scheduler, reads, fleet: preparing.fleet, onChange })
  return { scheduler, commands, reads, events }
}
