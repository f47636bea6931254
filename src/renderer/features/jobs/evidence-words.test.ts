import { expect, it } from 'vitest'
import type { Transition } from '../../../shared/contract/index.ts'
import { listCancelSteps } from './cancel-steps.tsx'
import { evidenceLine } from './evidence-words.ts'

const step = (over: Partial<Transition>): Transition =>
  ({ sequence: 1, kind: 'accepted', atMs: 0, attemptNumber: 1, text: 'Accepted', evidence: {}, ...over }) as Transition
const lineOf = (over: Partial<Transition>) => evidenceLine(step(over), (id) => `node ${id}`)
const at = (text: string) => new Date(`2026-11-22T${text}`).getTime()

it('describes a signal in sentences, with times to the second', () => {
  const evidence = { signal: 'INT', nodeSaid: 'running', next: 'INT', nextAtMs: at('19:41:43.601') }
  expect(lineOf({ kind: 'cancel_sent', evidence })).toBe(
    'The node reported the run as running. Next: stop immediately (INT) at 19:41:43.'
  )
  expect(lineOf({ kind: 'cancel_sent', evidence: { ...evidence, killAtMs: at('19:41:58.601') } })).toMatch(
    /Next: stop immediately \(INT\) at 19:41:43, then kill \(KILL\) at 19:41:58\.$/
  )
  expect(lineOf({ kind: 'cancel_sent', evidence: { signal: 'KILL', nodeSaid: null } })).toBe(
    'The node reported no such run.'
  )
})

it('describes what a remote node cannot do for a run in whole sentences', () => {
  const evidence = {
    jobid: '01a204c56669',
    answeredInMs: 5,
    env: 'remote nodes cannot set environment variables',
    secrets: 'on a Scrapyd node they are visible in its process list and logs'
  }
  expect(lineOf({ evidence })).toBe(
    'jobid 01a204c56669, answered in 5 ms. The environment variables of the job were left out: remote nodes cannot set them. ' +
      'Its secret values are visible in the process list and the logs of the node.'
  )
})

it('says that the feeds of the project could not be used', () => {
  expect(lineOf({ kind: 'ended', evidence: { logBytes: 5, feeds: 'x' } })).toMatch(
    /\. The feeds of the project or the job could not be opened: only Scrapdeck stored the items, see the log\.$/
  )
})

it('lists other facts, except those already in the text and fractions of a second', () => {
  expect(lineOf({ text: 'Running, pid 5', evidence: { pid: 5, nodeStartTime: '2026-11-22 19:39:35.412000' } })).toBe(
    'node start time 2026-11-22 19:39:35'
  )
  expect(lineOf({ evidence: { nodeId: 'n1', freeSlots: 4 } })).toBe('node id node n1, free slots 4')
})

it('lists the steps of a stop: the last signal, the next one, and KILL', () => {
  const sent = (signal: string, over: object) =>
    step({ kind: 'cancel_sent', text: signal, atMs: 5, evidence: { signal, ...over } })
  const sending = step({ kind: 'sending' })
  expect(listCancelSteps([sending, sent('INT', { next: 'INT', nextAtMs: 10, killAtMs: 12 })])).toEqual([
    { text: 'INT', state: 'sent', atMs: 5 },
    { text: 'Stop immediately (INT)', state: 'next', atMs: 10 },
    { text: 'Kill (KILL)', state: 'later', atMs: 12 }
  ])
  expect(listCancelSteps([sending, sent('INT', { next: 'KILL', nextAtMs: 10 })])[1]).toEqual({
    text: 'Kill (KILL)',
    state: 'next',
    atMs: 10
  })
  const killed = [sending, sent('INT', {}), sent('KILL', { next: 'KILL', nextAtMs: 20 })]
  expect(listCancelSteps(killed).at(-1)?.text).toBe('Kill again (KILL)')
  expect(listCancelSteps([...killed, sending])).toEqual([])
})
