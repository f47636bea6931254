import type { FleetLogHit } from '../../../../shared/contract/index.ts'

export interface HitsOfRun {
  key: string
  first: FleetLogHit
  hits: FleetLogHit[]
}

/** Lines of one log are together already. */
export function groupHits(hits: readonly FleetLogHit[]): HitsOfRun[] {
  const groups: HitsOfRun[] = []
  for (const hit of hits) {
    const key = `${hit.jobId} ${hit.attemptNumber}`
    const last = groups.at(-1)
    if (last?.key === key) last.hits.push(hit)
    else groups.push({ key, first: hit, hits: [hit] })
  }
  return groups
}
