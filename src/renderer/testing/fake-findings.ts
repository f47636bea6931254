import { implement } from '@orpc/server'
import { contract, type Finding, type SpiderFindings } from '../../shared/contract/index.ts'
import type { FakeWorld } from './fake-world.ts'
import { say, written } from '../../shared/texts/message.ts'

function fewItems(value: number): Finding {
  const usual = { low: Math.round(value * 4.9), high: Math.round(value * 5.1) }
  const { text: words, ...code } = written(
    say('finding.metric', { metric: 'items', value, median: value * 5, ...usual })
  )
  return { metric: 'items', field: null, words, ...code, value, usual }
}

export function createFakeFindings({ jobs, jobOf, firstRun, emit }: FakeWorld) {
  const os = implement(contract)
  const unusual = firstRun ? undefined : [...jobs.values()].findLast(({ outcome }) => outcome === 'succeeded')
  let spiders: SpiderFindings[] = []
  if (unusual !== undefined) {
    const { project, spider, id: jobId, endedAtMs } = unusual
    spiders = [{ project, spider, jobId, endedAtMs: endedAtMs ?? 0, findings: [fewItems(unusual.items ?? 0)] }]
  }
  return {
    list: os.findings.list.handler(() => ({ spiders })),
    ofJob: os.findings.ofJob.handler(({ input }) => {
      const job = jobOf(input.id)
      const compared = { neededRuns: 0, comparedRuns: 0, weekday: null, metrics: [], fields: null, findings: [] }
      if (job.outcome !== 'succeeded') return { state: 'not_succeeded' as const, ...compared }
      const isUnusual = job.id === unusual?.id
      const items = job.items ?? 0
      const findings = isUnusual ? [fewItems(items)] : []
      const usual = findings[0]?.usual ?? { low: Math.round(items * 0.97), high: Math.round(items * 1.02) }
      const metrics = [{ metric: 'items' as const, value: job.items, usual }]
      const shown = ['title', 'price'].map((field) => ({ field, value: 99, usual: { low: 98, high: 100 } }))
      const fields = items >= 20 ? { neededRuns: 0, comparedRuns: 12, shown } : null
      return { state: 'judged' as const, ...compared, comparedRuns: 30, metrics, fields, findings }
    }),
    dismiss: os.findings.dismiss.handler(({ input: { project, spider, jobId } }) => {
      const kept = spiders.filter((one) => one.project !== project || one.spider !== spider || one.jobId !== jobId)
      const dismissed = kept.length < spiders.length
      spiders = kept
      if (dismissed) emit({ kind: 'findings' })
      return { dismissed }
    })
  }
}
