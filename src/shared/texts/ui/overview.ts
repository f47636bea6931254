import { formatCount, plural } from '../../numbers.ts'
import { area } from './area.ts'

export const texts = area('overview', {
  nodeInvalid: 'not Scrapyd',
  latency: (ms: number) => `${ms} ms`,
  firstRunTitle: 'Scrapdeck is running with a node on this computer.',
  firstRunHint: 'Jobs wait in one queue and run on the first node with a free slot. Choose how to start:',
  addNodesHint: 'Paste the addresses of one or more Scrapyd servers. Each is checked before it is saved.',
  deployProjectHint: 'Drop an egg or a folder with scrapy.cfg into this window.',
  openProjects: 'Open Projects',
  couldNotRunDemo: 'Could not run the demo spider',
  runDemoSpider: 'Run demo spider',
  runDemo: 'Run demo',
  runDemoHint: (scrapyVersion: string | null) =>
    `Deploys a small project, runs its spider with Scrapy ${scrapyVersion} and opens the live log.`,
  lookingForPython: 'Looking for Python and Scrapy on this computer…',
  installScrapy: 'Install Scrapy on this computer',
  pythonNotFound: 'Python with Scrapy was not found.',
  slotsInUseOf: (inUse: number, slots: number) => `${formatCount(inUse)} of ${formatCount(slots)} slots`,
  slotsInUseAndQueued: (inUse: number, slots: number, over: string) =>
    `${formatCount(inUse)} of ${formatCount(slots)} slots, ${over} queued on nodes`,
  nodesWithProblems: (count: number) => `${plural(count, 'node')} with problems`,
  fleetLabel: (inUse: number, slots: number, nodes: number) =>
    `${formatCount(inUse)} of ${formatCount(slots)} slots in use on ${plural(nodes, 'node')}. All nodes are healthy.`,
  fleetLabelWithProblems: (inUse: number, slots: number, nodes: number, troubled: string) =>
    `${formatCount(inUse)} of ${formatCount(slots)} slots in use on ${plural(nodes, 'node')}. Nodes with problems: ${troubled}.`,
  legendRunning: 'running',
  legendTrouble: 'with problems',
  legendFree: 'free',
  nodeUnauthorized: 'password',
  fleet: 'Fleet',
  externalJob: 'external, not started by Scrapdeck',
  freeSlot: 'free slot',
  freeSlotOfNode: (mode: string) => `free slot, ${mode}`,
  latestFailures: 'Latest failures',
  showAll: 'all',
  logOf: (project: string, spider: string) => `Log of ${project}/${spider}`,
  queuedAgain: (project: string, spider: string) => `${project}/${spider} is queued again`,
  couldNotRunAgain: (project: string, spider: string) => `Could not run ${project}/${spider} again`,
  retryJob: (project: string, spider: string) => `Retry ${project}/${spider}`,
  engineState: 'the state of the engine',
  stateAsOf: (time: string) => `as of ${time}`,
  liveAt: (time: string) => `live · ${time}`,
  newErrors: (added: number, reopened: number, isMore: boolean) => {
    const facts = [added > 0 && `${formatCount(added)} new`, reopened > 0 && `${formatCount(reopened)} reopened`]
    return `Errors in the last 24 hours: ${isMore ? 'at least ' : ''}${facts.filter(Boolean).join(', ')}`
  },
  errorNew: 'new',
  errorReopened: 'reopened',
  queuePaused: ' paused',
  queueWaiting: ' waiting',
  perHour: '/h',
  slotsInUse: 'Slots in use',
  failedRuns: 'Failed',
  noProblems: 'No problems',
  warning: 'Warning',
  openNodes: 'Open nodes',
  openSources: 'Open sources',
  couldNotDismiss: 'Could not dismiss the problem',
  dismiss: 'Dismiss',
  dismissHint: 'The next run of this spider is compared again',
  nodeCordonedNotice: (node: string) => `${node} was cordoned.`,
  couldNotCordon: 'Could not cordon the node'
})
