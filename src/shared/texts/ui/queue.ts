import { formatCount, plural } from '../../numbers.ts'
import { area } from './area.ts'

export const texts = area('queue', {
  theLimits: 'the limits',
  limitsSaved: 'The limits were saved. Running jobs above a limit continue.',
  limitsNote: 'all of them apply',
  addLimit: 'Add limit',
  limitsHint:
    'A limit caps the number of live runs: of a project, of the spiders of one site, on nodes with a tag, or on each node. Jobs above the limit wait in the queue.',
  allLimitsRemoved: 'All limits removed (not saved)',
  noLimits: 'No limits',
  nodeTag: 'Node tag',
  scope: 'Scope',
  live: 'Live',
  saveLimits: 'Save limits',
  projectLabel: (number: number) => `Project of limit ${number}`,
  spidersLabel: (number: number) => `Spiders of limit ${number}`,
  projectPlaceholder: 'all',
  spidersPlaceholder: 'all, or price*',
  nodeTagPlaceholder: 'any',
  nodeTagLabel: (number: number) => `Node tag of limit ${number}`,
  scopeLabel: (number: number) => `Scope of limit ${number}`,
  combined: 'combined',
  perNode: 'per node',
  maximumLabel: (number: number) => `Maximum of limit ${number}`,
  removeLimit: (number: number) => `Remove limit ${number}`,
  maximumWrong: (problem: string) => `${problem}. 0 prevents new runs.`,
  maximumMissing: 'Enter the maximum. 0 prevents new runs.',
  reached: 'reached',
  reachedOnBusiestNode: 'reached on the busiest node',
  /** `at most 1 run of amazon* on each node`. A parameter is null if the limit covers everything of its kind. */
  limitSentence: (max: number, project: string | null, spider: string | null, tag: string | null, perNode: boolean) => {
    const runs = max === 0 ? 'no runs' : `up to ${plural(max, 'run')}`
    const spiders = spider === null ? 'any spider' : project === null ? spider : `${project}/${spider}`
    const what = spider === null && project !== null ? `project ${project}` : spiders
    const nodes = perNode ? 'each node' : 'all nodes'
    const where = tag !== null ? `on ${nodes} with tag ${tag}` : perNode ? 'on each node' : 'in the fleet'
    return `${runs} of ${what} ${where}${tag !== null && !perNode ? ' combined' : ''}`
  },
  liveOfMaxOnBusiestNode: (live: number, max: number) =>
    `${formatCount(live)} of ${formatCount(max)} on the busiest node`,
  liveOfMax: (live: number, max: number) => `${formatCount(live)} of ${formatCount(max)}`,
  projectsNote: 'slot shares and pauses',
  noProjectsHint: 'Deploy a project to set its weight and pause it here.',
  share: 'Share',
  dispatching: 'Dispatching',
  weightHint:
    'At equal priority, a project with weight 2 gets twice the slots of one with weight 1. The share counts projects with queued jobs that are not paused. Limits can reduce it.',
  weightChanged: (project: string, weight: number) => `The weight of ${project} is now ${weight}.`,
  couldNotChangeWeight: (project: string) => `Could not change the weight of ${project}`,
  weightLabel: (project: string) => `Weight of ${project}`,
  on: 'on',
  paused: 'paused',
  dispatchingLabel: (project: string) => `Dispatch jobs of ${project}`,
  queuedJobs: (count: number) =>
    count === 0 ? 'no queued jobs' : count === 1 ? '1 job waits' : `${formatCount(count)} jobs wait`,
  slotsInUse: (used: number, total: number) => `${formatCount(used)} of ${formatCount(total)} slots in use`,
  slotsInUseQueuedOnNodes: (used: number, total: number, queuedOnNodes: string) =>
    `${formatCount(used)} of ${formatCount(total)} slots in use, ${queuedOnNodes} queued on nodes`,
  waitingJobs: 'Waiting jobs',
  theQueue: 'the queue',
  lanesLabel: 'Lanes of the queue',
  queueHint: 'Jobs run on the first node with a free slot. Jobs that must wait are listed here with the reason.',
  theQueueIsEmpty: 'The queue is empty',
  lanes: (count: number) => plural(count, 'lane'),
  largestLanes: (count: number, total: number) => `largest ${formatCount(count)} of ${plural(total, 'lane')}`,
  heldJobs: (held: number) => `${plural(held, 'job')} waiting for a time or another job`
})
