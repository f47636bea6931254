import { EventEmitter } from 'node:events'
import type { StoredFiring } from '../model/records.ts'
import { stop, type Tools } from '../runtime/tools.ts'
import type { Store } from '../storage/store.ts'
import { type ChainFacts, ChainRunner, type ChainRunnerParts } from './chains.ts'
import { Scheduler, type SchedulerParts } from './scheduler.ts'
import { expandTemplates } from './template.ts'
import { ScheduleWatchdog } from './watchdog.ts'

export interface ScheduledJobs extends Pick<SchedulerParts, 'prepare' | 'requireSpiders' | 'openTemplate' | 'cancel'> {
  prepareChained: ChainRunnerParts['prepare']
}

interface SchedulesParts extends Tools {
  store: Store
  jobs: ScheduledJobs
  onJobs: () => void
}

export type Schedules = ReturnType<typeof openSchedules>

export function openSchedules(
  opened: AsyncDisposableStack,
  { store, jobs, onJobs, clock, random, logger }: SchedulesParts
) {
  const chainEvents = new EventEmitter<{ changed: [] }>()
  const chains = new ChainRunner({
    store,
    onJobs,
    clock,
    logger,
    openTemplate: jobs.openTemplate,
    requireSpiders: jobs.requireSpiders,
    expand: (template, facts) => expandTemplates({ name: facts.chain, jobs: [template] }, placeholdersOf(facts), clock),
    prepare: jobs.prepareChained,
    onAnswered: () => chainEvents.emit('changed')
  })
  opened.adopt(chains, stop)
  const scheduleEvents = new EventEmitter<{ fired: [firings: StoredFiring[]]; changed: [] }>()
  const scheduler = new Scheduler({
    store,
    onJobs,
    clock,
    random,
    logger,
    ...jobs,
    onFired: (firings) => scheduleEvents.emit('fired', firings),
    onPaused: () => scheduleEvents.emit('changed')
  })
  opened.adopt(scheduler, stop)
  const watchdog = opened.adopt(new ScheduleWatchdog({ clock, dueSinceMs: () => scheduler.dueSinceMs() }), stop)
  return { chains, chainEvents, scheduler, scheduleEvents, watchdog }
}

/** `{nominal}` is the nominal time of the previous job, or else when it ended. Chains have no nominal times. */
function placeholdersOf({ chain, job, stats, nowMs, zone }: ChainFacts) {
  return {
    nominalMs: job.nominalMs ?? job.endedAtMs ?? nowMs,
    previousMs: null,
    nowMs,
    zone: zone ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
    schedule: chain,
    stats,
    job: job.id,
    outcome: job.outcome ?? ''
  }
}
