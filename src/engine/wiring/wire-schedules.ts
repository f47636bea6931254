import { EventEmitter } from 'node:events'
import type { JobCommands } from '../commands/job-commands.ts'
import { prepareJobs, type PrepareJobsParts } from '../commands/prepare-jobs.ts'
import { ScheduleCommands } from '../commands/schedule-commands.ts'
import { ScheduleReads } from '../commands/schedule-reads.ts'
import { openTemplate } from '../commands/template-secrets.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Random } from '../runtime/random.ts'
import type { SecretBox } from '../runtime/secret-box.ts'
import { Scheduler } from '../schedules/scheduler.ts'
import type { StoredFiring } from '../store/records.ts'
import type { ChangeLog, FiringStore, JobReader, ScheduleStore, BackfillStore } from '../store/store.ts'

/** Schedules: the orders about them, and the ticker that fires them. */
export function wireSchedules(parts: {
  store: ScheduleStore & FiringStore & JobReader & ChangeLog & BackfillStore
  secretBox: SecretBox
  clock: Clock
  random: Random
  logger: Logger
  preparing: PrepareJobsParts
  jobCommands: Pick<JobCommands, 'cancel'>
  wakeDispatcher: () => void
  slots: () => number
}) {
  const { store, secretBox, clock, random, logger, preparing, jobCommands, wakeDispatcher, slots } = parts
  /** `fired`: rows of moments were written. `changed`: a schedule was changed, or has paused itself. */
  const events = new EventEmitter<{ fired: [firings: StoredFiring[]]; changed: [] }>()
  const scheduler = new Scheduler({
    store,
    clock,
    random,
    logger,
    prepare: (items, origin) => prepareJobs(items, origin, preparing),
    openTemplate: (template) => openTemplate(template, secretBox),
    onJobs: wakeDispatcher,
    onFired: (firings) => events.emit('fired', firings),
    onPaused: () => events.emit('changed'),
    cancel: async (jobIds) => {
      await jobCommands.cancel(jobIds, { force: false })
    }
  })
  const reads = new ScheduleReads({ store, scheduler, clock, slots })
  const commands = new ScheduleCommands({
    store,
    scheduler,
    fleet: preparing.fleet,
    secretBox,
    clock,
    random,
    reads,
    onChange: () => events.emit('changed')
  })
  return { scheduler, commands, reads, events }
}
