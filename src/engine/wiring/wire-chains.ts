import { EventEmitter } from 'node:events'
import { ChainCommands } from '../commands/chain-commands.ts'
import { checkTemplate } from '../commands/check-template.ts'
import { prepareJobs, type PrepareJobsParts, requireSpiders } from '../commands/prepare-jobs.ts'
import { openTemplate } from '../commands/template-secrets.ts'
import { type ChainFacts, ChainRunner } from '../schedules/chains.ts'
import { checkTemplates, expandTemplates } from '../schedules/template.ts'
import type { Base } from './base.ts'

/** Chains: their commands, and the runner that reacts when jobs end. */
export function wireChains(base: Base, preparing: PrepareJobsParts, wakeDispatcher: () => void) {
  const { secretBox } = base
  /** `changed`: a chain was changed, or it reacted to the end of a job. */
  const events = new EventEmitter<{ changed: [] }>()
  const runner = new ChainRunner({
    ...base,
    openTemplate: (template) => openTemplate(template, secretBox),
    requireSpiders: (template) => requireSpiders(template, preparing.projects.catalog),
    expand: (template, facts) =>
      expandTemplates({ name: facts.chain, jobs: [template] }, placeholdersOf(facts), base.clock),
    prepare: (items) => prepareJobs(items, { source: 'chain' }, preparing),
    onJobs: wakeDispatcher,
    onAnswered: () => events.emit('changed')
  })
  const commands = new ChainCommands({
    ...base,
    async checkTemplate(template, name) {
      const allowed = checkTemplate(template, 'chain', preparing.fleet)
      await checkTemplates({ name, jobs: [allowed] }, 'UTC', base.clock)
      return allowed
    },
    async onChange() {
      events.emit('changed')
      await runner.refresh()
    }
  })
  return { runner, commands, events }
}

/** Chains have no nominal times: `{nominal}` is that of the previous job, or the time at which it ended. */
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
