import type { Firing } from '../../src/shared/contract/index.ts'

type ToldFiring = Pick<Firing, 'nominalMs' | 'state' | 'count' | 'jobIds'>

export function judgeFirings(firings: readonly ToldFiring[], everyMs: number): string[] {
  const complaints: string[] = []
  const times = firings.map(({ nominalMs }) => nominalMs).toSorted((left, right) => left - right)
  const at = (nominalMs: number) => new Date(nominalMs).toISOString()
  if (times.length === 0) return ['the schedule never fired']
  times.forEach((nominalMs, index) => {
    const before = times[index - 1]
    if (before === undefined) return
    if (nominalMs === before) complaints.push(`the schedule fired twice for ${at(nominalMs)}`)
    else if (nominalMs - before > everyMs)
      complaints.push(`the schedule did not fire between ${at(before)} and ${at(nominalMs)}`)
  })
  for (const { nominalMs, state, jobIds } of firings) {
    if (state !== 'fired' || jobIds.length !== 1)
      complaints.push(`the firing of ${at(nominalMs)} is ${state} and has ${jobIds.length} jobs`)
  }
  const jobs = firings.flatMap(({ jobIds }) => jobIds)
  if (new Set(jobs).size < jobs.length) complaints.push('two firings have the same job')
  return complaints
}
