import type { History, Violation } from './work/history.ts'

const AROUND_MS = 20_000

export function describeFailure(history: History, violations: readonly Violation[]): string {
  const lines = [...violations].slice(0, 10).map(({ rule, jobId, text }) => `✗ ${rule}: ${jobId ?? ''} ${text}`)
  lines.push('', describeFleet(history))
  const jobIds = [...new Set(violations.flatMap(({ jobId }) => jobId ?? []))].slice(0, 3)
  for (const id of jobIds) lines.push('', `--- ${id}`, ...storyOf(history, id))
  if (jobIds.length === 0) lines.push('', '--- faults', ...history.faults.map(faultLine))
  return lines.join('\n')
}

function describeFleet({ scenario }: History): string {
  return scenario.nodes
    .map((node) => {
      const { name, version, maxProc, slots, queueAhead, giveUpAfterSeconds, finishedToKeep, jobsToKeep, tags } = node
      return `${name}: Scrapyd ${version}, max_proc ${maxProc}, slots ${slots ?? 'learned'} + ${queueAhead}, given up after ${giveUpAfterSeconds ?? '-'} s, keeps ${finishedToKeep} finished and ${jobsToKeep} logs, tags ${tags.join() || '-'}`
    })
    .join('\n')
}

function storyOf(history: History, id: string): string[] {
  const job = history.jobs.find((one) => one.id === id)
  const events: { atMs: number; text: string }[] = []
  for (const { name, input, output, invokedAtMs, answeredAtMs, result, error } of history.operations) {
    const words = JSON.stringify(input)
    if (!words.includes(id) && !JSON.stringify(output)?.includes(id)) continue
    events.push({ atMs: invokedAtMs, text: `asked    ${name} ${words.slice(0, 400)}` })
    if (answeredAtMs !== null) events.push({ atMs: answeredAtMs, text: `answered ${name}: ${result} ${error ?? ''}` })
  }
  for (const belief of history.beliefs) {
    if (belief.kind === 'changed' && belief.jobId === id) {
      events.push({
        atMs: belief.atMs,
        text: `written  attempt ${belief.number}: ${belief.what}${belief.to === null ? '' : ` -> ${belief.to}`}`
      })
    }
    if (belief.kind !== 'begun') continue
    for (const attempt of belief.attempts) {
      if (attempt.jobId === id)
        events.push({ atMs: belief.atMs, text: `written  attempt ${attempt.number}: sending to ${attempt.nodeId}` })
    }
  }
  for (const run of history.accepted.filter(({ jobid }) => jobid.startsWith(id))) {
    events.push({ atMs: run.acceptedAtMs, text: `really   ${run.node} takes ${run.jobid} into its queue` })
    if (run.startedAtMs !== null)
      events.push({ atMs: run.startedAtMs, text: `really   ${run.node} starts ${run.jobid}` })
    if (run.endedAtMs !== null)
      events.push({ atMs: run.endedAtMs, text: `really   ${run.jobid} ends on ${run.node}: ${run.ended}` })
  }
  const times = events.map(({ atMs }) => atMs)
  const [first, last] = [Math.min(...times) - AROUND_MS, Math.max(...times) + AROUND_MS]
  const hosts = new Set((history.attempts.get(id) ?? []).map(({ nodeId }) => history.hosts.get(nodeId)))
  for (const fault of history.faults) {
    if (fault.atMs < first || fault.atMs > last || (fault.node !== null && !hosts.has(fault.node))) continue
    events.push({ atMs: fault.atMs, text: faultLine(fault) })
  }
  const timeline = (history.timelines.get(id) ?? []).map(
    ({ attemptNumber, kind, text, evidence }) =>
      `  ${attemptNumber ?? '-'} ${kind}: ${text} ${JSON.stringify(evidence)}`
  )
  const facts = job === undefined ? 'unknown' : JSON.stringify({ ...job, lane: undefined, settings: undefined })
  return [
    facts,
    ...events.sort((one, other) => one.atMs - other.atMs).map(({ atMs, text }) => `${seconds(atMs)}  ${text}`),
    'timeline:',
    ...timeline
  ]
}

function faultLine({ atMs, kind, node, about }: History['faults'][number]): string {
  return `FAULT    ${node ?? 'ours'}: ${kind} ${about} (at ${seconds(atMs).trim()})`
}

function seconds(atMs: number): string {
  return `${(atMs / 1000).toFixed(3).padStart(9)} s`
}
