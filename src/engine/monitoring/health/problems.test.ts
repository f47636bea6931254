import { describe, expect, it } from 'vitest'
import type { Environment } from '../../../shared/contract/index.ts'
import type { LiveAttempt } from '../../jobs/dispatch/live-attempts.ts'
import { LOCAL_NODE_ID } from '../../../shared/ids.ts'
import { aNodeId, aProjectName } from '../../../shared/testing/ids.ts'
import { plain } from '../../../shared/texts/message.ts'
import type { FleetNode, NodeStatus } from '../../nodes/fleet.ts'
import { LOCAL_TRAITS, SCRAPYD_TRAITS } from '../../nodes/node-traits.ts'
import type { StoredJob, StoredSchedule } from '../../model/records.ts'
import { aStoredNode } from '../../testing/builders.ts'
import { listProblems, type ProblemsInput } from './problems.ts'
import { NO_SCHEDULE_TROUBLES } from './schedule-problems.ts'

const NOW_MS = 1_800_000_000_000

function aFleetNode(status: Partial<NodeStatus>, stored: Parameters<typeof aStoredNode>[0] = {}): FleetNode {
  return {
    stored: aStoredNode({ id: 'n1', name: 'eu-1', ...stored }),
    client: { traits: stored.id === LOCAL_NODE_ID ? LOCAL_TRAITS : SCRAPYD_TRAITS },
    status: {
      health: 'up',
      problem: null,
      running: 0,
      external: { running: [], pending: [] },
      excess: null,
      capacity: { slots: 2 },
      lastSeenAtMs: NOW_MS - 12_000,
      ...status
    }
  } as FleetNode
}

const problemsOf = (input: Partial<ProblemsInput>) =>
  listProblems({
    nowMs: NOW_MS,
    nodes: [],
    live: [],
    blobs: { name: 'the data directory', problem: null, sinceMs: null, disk: null, engine: null, apart: [] },
    cache: null,
    namesakeEngines: [],
    plainHttpOn: null,
    syslogAway: null,
    missingRoles: [],
    notIsolated: null,
    heartbeatFailure: null,
    schedulesLateSinceMs: null,
    recentFailures: [],
    python: null,
    environments: [],
    isPaused: false,
    queued: 0,
    sources: [],
    orderWarnings: [],
    findings: [],
    storage: { disk: null, encryption: null, totalBytes: 0, budgetBytes: null, isPolicySet: true },
    stuckSinceMs: () => null,
    longWaits: [],
    schedules: NO_SCHEDULE_TROUBLES,
    namesakes: [],
    channels: [],
    pluginsWithoutChannel: [],
    ...input
  })

const accepted = { nodeId: 'n1', state: 'accepted', sentAtMs: NOW_MS - 20_000 } as LiveAttempt
const failed = {
  outcome: 'failed',
  project: aProjectName('shop'),
  spider: 'prices',
  killingLine: "KeyError: 'price'",
  endedAtMs: NOW_MS - 5_000
} as StoredJob

describe('the list of problems', () => {
  it('has schedules that share a name', () => {
    const named = (name: string) => ({ id: name, settings: { name, jobs: [] } }) as unknown as StoredSchedule
    expect(problemsOf({ namesakes: [named('nightly'), named('nightly')] })).toMatchObject([
      { id: 'schedule-name:nightly', severity: 'warning', title: '2 schedules are called nightly' }
    ])
  })

  it('is empty if all is well', () => {
    expect(problemsOf({ nodes: [aFleetNode({})] })).toEqual([])
  })

  it('has a node that is down, with the cause, the time, and what is unknown because of it', () => {
    const [problem] = problemsOf({
      nodes: [aFleetNode({ health: 'down', problem: plain('connection refused.') })],
      live: [accepted]
    })
    expect(problem).toMatchObject({ severity: 'error', title: 'eu-1 is down', mend: 'run_elsewhere', nodeId: 'n1' })
    expect(problem?.text).toBe(
      'connection refused; last seen 12 s ago; 1 job on this node is in an unknown state until it responds'
    )
    expect(problem).toMatchObject({
      titleCode: 'problem_title.node_away',
      titleParams: { node: 'eu-1', health: 'down' },
      code: 'problem.node_away',
      params: { problem: 'connection refused.', seenAgoMs: 12_000, jobs: 1, giveUpAfterSeconds: null }
    })
  })

  it('offers to run the jobs of an unresponsive node elsewhere, but not those of a node that needs a password', () => {
    const mendOf = (status: Partial<NodeStatus>, id = 'n1') =>
      problemsOf({ nodes: [aFleetNode(status, { id })], live: [{ ...accepted, nodeId: aNodeId(id) }] })[0]?.mend
    expect([mendOf({ health: 'down' }), mendOf({ health: 'invalid' })]).toEqual(['run_elsewhere', 'run_elsewhere'])
    expect([mendOf({ health: 'unauthorized' }), mendOf({ health: 'down' }, LOCAL_NODE_ID)]).toEqual([
      'edit_node',
      'edit_node'
    ])
    const patient = aFleetNode({ health: 'down', problem: plain('no answer') }, { giveUpAfterSeconds: 600 })
    expect(problemsOf({ nodes: [patient], live: [accepted, accepted] })[0]?.text).toMatch(
      /2 jobs on this node are in an unknown state until it responds, or until Scrapdeck gives up on it after 10 min$/
    )
  })

  it('has a node that accepts jobs but starts none, as stuck', () => {
    const stuckSinceMs = () => NOW_MS - 60_000
    const [problem] = problemsOf({ nodes: [aFleetNode({})], stuckSinceMs })
    expect(problem).toMatchObject({ title: 'eu-1 is stuck', mend: 'cordon_node', sinceMs: NOW_MS - 60_000 })
    expect(problemsOf({ nodes: [aFleetNode({ health: 'down' })], stuckSinceMs })[0]?.title).toBe('eu-1 is down')
  })

  it('has a node that lists more than is read or shown, with what is left out', () => {
    const running = Array.from({ length: 1_001 }, () => ({}) as never)
    const node = aFleetNode({ excess: plain('more than 2,000 projects'), external: { running, pending: [] } })
    expect(problemsOf({ nodes: [node] })).toMatchObject([
      {
        severity: 'warning',
        title: 'eu-1 lists more than Scrapdeck reads',
        text: 'it lists more than 2,000 projects; the rest is used; it lists 1,001 jobs that Scrapdeck did not start; the first 1,000 are shown',
        nodeId: 'n1'
      }
    ])
  })

  it('has one entry for a spider that failed several times, with its last fatal line', () => {
    const problems = problemsOf({ recentFailures: [failed, failed, failed] })
    expect(problems.map(({ title, text }) => [title, text])).toEqual([
      ['shop/prices failed', "3 times in the last 24 hours; last error: KeyError: 'price'"]
    ])
    expect(problems[0]).toMatchObject({ mend: 'open_jobs', spider: 'prices', status: 'failed' })
  })

  it('has a pause only while jobs wait for its end', () => {
    expect(problemsOf({ isPaused: true })).toEqual([])
    expect(problemsOf({ isPaused: true, queued: 3 })[0]).toMatchObject({
      title: 'The queue is paused',
      mend: 'resume'
    })
  })

  it('has errors before warnings', () => {
    const problems = problemsOf({
      nodes: [aFleetNode({ health: 'down' })],
      recentFailures: [failed],
      isPaused: true,
      queued: 1
    })
    expect(problems.map(({ severity }) => severity)).toEqual(['error', 'warning', 'warning'])
  })

  it('has a Python environment that could not be created, for each project that uses it', () => {
    const failed = {
      id: '0123456789ab',
      kind: 'requirements',
      state: 'failed',
      path: null,
      problem: 'No lxml'
    } as Environment
    const environments = [
      { ...failed, projects: [aProjectName('shop'), aProjectName('news')] },
      { ...failed, id: 'unused', projects: [] },
      { ...failed, kind: 'main' as const, projects: [aProjectName('other')] },
      { ...failed, state: 'ready' as const, projects: [aProjectName('fine')] }
    ]
    expect(problemsOf({ environments })).toMatchObject([
      { severity: 'error', title: 'shop has no Python on this computer', text: 'No lxml', project: 'shop' },
      { severity: 'error', project: 'news' }
    ])
    expect(
      problemsOf({ environments: [{ ...failed, path: '/python', projects: [aProjectName('shop')] }] })
    ).toMatchObject([
      { severity: 'warning', title: 'The Python environment of shop could not be rebuilt', project: 'shop' }
    ])
  })
})
