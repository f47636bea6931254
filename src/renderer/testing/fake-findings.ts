import { implement } from '@orpc/server'
import { contract, type Finding, type SpiderFindings } from '../../shared/contract/index.ts'
import type { FakeWorld } from './fake-world.ts'

const FEW_ITEMS: Finding = {
  metric: 'items',
  field: null,
  words: 'Items fell by 80 %: 125 instead of usually 610 to 640',
  value: 125,
  usual: { low: 610, high: 640 }
}

/** One spider of the fleet got far fewer items than usual. */
export function createFakeFindings({ jobs, jobOf, firstRun, emit }: FakeWorld) {
  const os = implement(contract)
  const unusual = firstRun ? undefined : [...jobs.values()].findLast(({ outcome }) => outcome === 'succeeded')
  let spiders: SpiderFindings[] = []
  if (unusual !== undefined) {
    const { project, spider, id: jobId, endedAtMs } = unusual
    spiders = [{ project, spider, jobId, endedAtMs: endedAtMs ?? 0, findings: [FEW_ITEMS] }]
  }
  return {
    list: os.findings.list.handler(() => ({ spiders })),
    ofJob: os.findings.ofJob.handler(({ input }) => {
      const job = jobOf(input.id)
      const compared = { neededRuns: 0, comparedRuns: 0, weekday: null, metrics: [], findings: [] }
      if (job.outcome !== 'succeeded') return { state: 'not_succeeded' as const, ...compared }
      const findings = job.id === unusual?.id ? [FEW_ITEMS] : []
      const { usual } = FEW_ITEMS
      const metrics = [{ metric: 'items' as const, value: findings[0]?.value ?? job.items, usual }]
      return { state: 'judged' as const, ...compared, comparedRuns: 30, metrics, findings }
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
