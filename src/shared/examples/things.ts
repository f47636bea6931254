import {
  type Alert,
  type AlertChannel,
  type AlertEvidence,
  AlertId,
  type AlertReport,
  type AlertRule,
  AlertRuleId,
  type AlertSilence,
  AlertSilenceId,
  NO_DEFAULTS,
  type Attempt,
  AttemptNumber,
  type Backfill,
  type CrawlOrder,
  type Chain,
  ChainId,
  type Deployment,
  type Environment,
  type ErrorGroup,
  ErrorGroupId,
  type ErrorOccurrence,
  type Figures,
  type Firing,
  type Job,
  JobId,
  type LaneSummary,
  type Node,
  NodeId,
  type Project,
  ProjectName,
  type RunFigures,
  type SpiderFindings,
  type Schedule,
  ScheduleId,
  SourceId,
  type SourceState,
  type Transition,
  type UsageSample,
  type Version,
  VersionName,
  type Webhook,
  WebhookId,
  type AccessRole,
  type AccessToken,
  type Passkey,
  AuditEntry,
  AccessTokenId,
  type Group,
  GroupId,
  type Session,
  type User,
  PasskeyId,
  type WaitingSignIn,
  UserId
} from '../contract/index.ts'
import { QUEUED_JOB } from '../plain-job.ts'

export const NOON_MS = Date.UTC(2026, 10, 2, 12)
export const JOB_ID = JobId.parse('019b3f5e7c0070008000000000000001')
export const LATER_JOB_ID = JobId.parse('019b3f5e7c0070008000000000000002')
export const SCHEDULE_ID = ScheduleId.parse('5d1e3a7c9b2f4d608a1b2c3d4e5f6071')
export const CHAIN_ID = ChainId.parse('7a0c1e2d3b4f5a69788796a5b4c3d2e1')
export const GROUP_ID = GroupId.parse('9d02c7a15e684fb39d1a7c40b8e6f214')
export const USER_ID = UserId.parse('5c1e08d47ab94f0e8e2b6a91c3d7f450')
export const TOKEN_ID = AccessTokenId.parse('9d20f3b86c1a4e57a0f4c8e2b1d69a37')
export const WEBHOOK_ID = WebhookId.parse('2f4d608a1b2c3d4e5f60715d1e3a7c9b')
export const NODE_ID = NodeId.parse('n-4f2a90c17b')
export const SOURCE_ID = SourceId.parse('pods')
export const SHOP = ProjectName.parse('shop')
export const SHOP_VERSION = VersionName.parse('1.4.0')

export const job: Job = {
  id: JOB_ID,
  jobid: JOB_ID,
  project: SHOP,
  spider: 'prices',
  source: 'api',
  queuedAtMs: NOON_MS,
  ...QUEUED_JOB,
  settings: { DOWNLOAD_DELAY: '0.5' },
  args: { category: 'shoes' },
  rank: 1024,
  placement: { nodeId: null, tags: ['eu'] },
  waiting: {
    code: 'all_slots_busy',
    text: 'all 4 slots tagged eu are busy',
    params: { slots: 4, held: 0, version: null, only: null, tags: ['eu'] }
  },
  lane: '["shop","prices",null,null,["eu"]]'
}

export const runningJob: Job = {
  ...job,
  state: 'running',
  status: 'running',
  waiting: null,
  nodeId: NODE_ID,
  attemptCount: 1,
  sentVersion: SHOP_VERSION,
  startedAtMs: NOON_MS + 2_000,
  pages: 120,
  items: 118,
  errors: 0
}

export const attempt: Attempt = {
  jobId: JOB_ID,
  number: AttemptNumber.parse(1),
  jobid: JOB_ID,
  nodeId: NODE_ID,
  project: SHOP,
  version: SHOP_VERSION,
  spider: 'prices',
  state: 'running',
  result: null,
  reason: null,
  sentAtMs: NOON_MS + 900,
  acceptedAtMs: NOON_MS + 1_000,
  startedAtMs: NOON_MS + 2_000,
  endedAtMs: null,
  pid: 4711,
  exitCode: null,
  signal: null,
  stats: null,
  limitHit: null,
  peakMemoryBytes: null,
  cpuSeconds: null,
  logArchived: false,
  logDeletedAtMs: null
}

export const transition: Transition = {
  sequence: 1,
  jobId: JOB_ID,
  attemptNumber: null,
  atMs: NOON_MS,
  kind: 'queued',
  text: 'Queued via API',
  code: 'timeline.queued',
  params: { source: 'api', by: null },
  evidence: {}
}

export const usage: UsageSample = { atMs: NOON_MS + 4_000, memoryBytes: 81_000_000, cpuShare: 0.4, processes: 1 }

export const node: Node = {
  id: NODE_ID,
  name: 'eu-1',
  kind: 'scrapyd',
  url: 'https://eu-1.example.org:6800/',
  username: 'deck',
  hasPassword: true,
  hasCaCertificate: false,
  slots: 4,
  slotsSource: 'learned',
  slotsText: 'learned: 4 ran while 2 waited, for 12 s',
  slotsTextCode: 'slots.proved',
  slotsTextParams: { slots: 4, waited: 2, seconds: 12, isTrying: false },
  queueAhead: 0,
  giveUpAfterSeconds: null,
  logsKept: null,
  group: null,
  tags: ['eu'],
  mode: 'active',
  health: 'up',
  problem: null,
  scrapydVersion: '1.6',
  nodeName: 'eu-1',
  runs: [
    {
      jobId: JOB_ID,
      jobid: JOB_ID,
      project: SHOP,
      spider: 'prices',
      state: 'running',
      sinceMs: NOON_MS + 2_000,
      pid: null,
      usage: null
    }
  ],
  running: 1,
  pending: 0,
  finished: 18,
  latencyMs: 12,
  lastSeenAtMs: NOON_MS + 3_000,
  unreachableSinceMs: null,
  stuckSinceMs: null,
  clockOffsetMs: 40,
  addedAtMs: NOON_MS - 86_400_000,
  hasClientCertificate: false,
  proxyUrl: null,
  sourceId: null,
  kubernetes: null,
  python: null,
  hasToken: false,
  tunnel: null
}

export const pullingNode: Node = {
  ...node,
  name: 'behind-nat',
  kind: 'pulling',
  url: `pull:${NODE_ID}`,
  username: null,
  hasPassword: false,
  hasToken: true,
  slotsText: 'reported by the node (max_proc)',
  slotsTextCode: 'slots.of_node',
  slotsTextParams: {}
}

export const TOKEN = `sdn_${NODE_ID}_${'0'.repeat(64)}`

export const deployment: Deployment = {
  nodeId: NODE_ID,
  state: 'present',
  sha256: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  error: null,
  changedAtMs: NOON_MS - 3_600_000
}

export const version: Version = {
  project: SHOP,
  version: SHOP_VERSION,
  sha256: deployment.sha256,
  sizeBytes: 48_211,
  spiders: ['prices', 'stock'],
  createdAtMs: NOON_MS - 3_600_000,
  orderWarning: null,
  deployments: [deployment]
}

export const project: Project = {
  name: SHOP,
  latestVersion: SHOP_VERSION,
  activeVersion: SHOP_VERSION,
  settings: {
    python: { kind: 'default' },
    limits: { memoryMegabytes: 512 },
    weight: 1,
    paused: false,
    retry: { attempts: 3, backoffSeconds: 30, backoffFactor: 2, backoffMaxSeconds: 3_600, on: ['failed', 'lost'] },
    noOverlap: false,
    cancelWaitSeconds: null,
    distribution: 'on_demand',
    pinnedVersion: null,
    defaults: { ...NO_DEFAULTS, settings: { LOG_LEVEL: 'INFO' }, tags: ['eu'] },
    spiderDefaults: { prices: { ...NO_DEFAULTS, args: { country: 'de' } } },
    outcome: { requireResponse: true, maxErrors: 100, minItems: 1 },
    spiderOutcomes: { prices: { minItems: 500 } },
    expectations: true,
    keepItems: false
  },
  versions: [version]
}

export const firing: Firing = {
  id: 41,
  scheduleId: SCHEDULE_ID,
  nominalMs: NOON_MS - 21_600_000,
  origin: 'tick',
  atMs: NOON_MS - 21_599_996,
  state: 'fired',
  reason: 'on_time',
  text: 'Fired on time',
  count: 1,
  jobIds: [JOB_ID],
  outcome: 'succeeded',
  durationMs: 181_000
}

export const missedFiring: Firing = {
  id: 40,
  scheduleId: SCHEDULE_ID,
  nominalMs: NOON_MS - 108_000_000,
  origin: 'tick',
  atMs: NOON_MS - 90_000_000,
  state: 'missed',
  reason: 'out_of_window',
  count: 1,
  text: 'Scrapdeck was not running, and the catch-up window of 1 h was over when it started',
  jobIds: [],
  outcome: null,
  durationMs: null
}

export const backfill: Backfill = {
  id: 'b1',
  scheduleId: SCHEDULE_ID,
  fromMs: NOON_MS - 7 * 86_400_000,
  untilMs: NOON_MS,
  order: 'oldest_first',
  concurrency: 1,
  state: 'running',
  total: 6,
  fired: 2,
  ended: 1,
  failed: 0
}

export const crawlOrder: CrawlOrder = {
  job_id: null,
  schedule_id: SCHEDULE_ID,
  reason: null,
  user_id: 'ann',
  project: 'shop',
  spider: 'prices',
  start_urls: ['https://shop.example/shoes'],
  depth: 2,
  params: { currency: 'EUR' },
  interval: '0 9 * * *',
  zone: 'Europe/Berlin',
  http_cache: true,
  status: 'pending',
  scheduled_at: new Date(NOON_MS - 30 * 86_400_000).toISOString(),
  next_run: new Date(NOON_MS + 64_800_000).toISOString(),
  created_at: new Date(NOON_MS - 30 * 86_400_000).toISOString(),
  updated_at: new Date(NOON_MS - 86_400_000).toISOString()
}

export const schedule: Schedule = {
  id: SCHEDULE_ID,
  revision: 3,
  name: 'Prices each morning',
  zone: 'Europe/Berlin',
  rules: [{ kind: 'cron', expression: '0 7 * * MON-FRI' }],
  excludedDates: ['2026-12-25'],
  excludedCrons: [],
  gap: 'run_at_shift',
  doubled: 'run_once',
  startMs: null,
  endMs: null,
  jobs: [
    {
      project: SHOP,
      version: null,
      spiders: ['prices'],
      settings: {},
      args: { day: '{nominal:yyyy-MM-dd}' },
      argSets: [{ category: 'shoes' }, { category: 'hats' }],
      matrix: {},
      secretNames: [],
      limits: null,
      priority: 0,
      nodeId: null,
      tags: ['eu'],
      retry: null,
      userId: null
    }
  ],
  overlap: 'skip',
  catchUp: 'last',
  catchUpWindowSeconds: 3_600,
  jitterSeconds: 0,
  maxRuns: null,
  pauseAfterFailures: 5,
  paused: false,
  pauseNote: null,
  pausedBy: null,
  createdAtMs: NOON_MS - 30 * 86_400_000,
  changedAtMs: NOON_MS - 86_400_000,
  nextAtMs: NOON_MS + 64_800_000,
  nextNominalMs: NOON_MS + 64_800_000,
  runCount: 21,
  failuresInARow: 0,
  recent: [firing],
  backfill: null
}

export const chain: Chain = {
  id: CHAIN_ID,
  name: 'Stock after prices',
  enabled: true,
  project: SHOP,
  spider: 'prices',
  on: 'succeeded',
  run: {
    ...schedule.jobs[0]!,
    spiders: ['stock'],
    args: { items: '{stats.item_scraped_count}' },
    argSets: []
  },
  firedCount: 20,
  lastFiredAtMs: NOON_MS - 21_000_000,
  problem: null
}

export const webhook: Webhook = {
  id: WEBHOOK_ID,
  name: 'Alert the team',
  url: 'https://hooks.example.org/scrapdeck',
  events: ['job.ended', 'schedule.missed'],
  project: null,
  enabled: true,
  createdAtMs: NOON_MS - 86_400_000,
  lastDeliveredAtMs: NOON_MS - 21_000_000,
  waiting: 0,
  dead: 0,
  problem: null
}

export const ALERT_RULE_ID = AlertRuleId.parse('3a5e719b2c4d6f8091a2b3c4d5e6f708')
export const ALERT_ID = AlertId.parse('9b2c4d6f8091a2b3c4d5e6f7083a5e71')
export const SILENCE_ID = AlertSilenceId.parse('4d6f8091a2b3c4d5e6f7083a5e719b2c')

const ANY = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null }

export const alertRule: AlertRule = {
  ...ANY,
  id: ALERT_RULE_ID,
  revision: 1,
  createdAtMs: NOON_MS - 86_400_000,
  name: 'Nodes in Europe',
  enabled: true,
  nodeTag: 'eu',
  watch: 'node_down',
  comparison: 'at_least',
  threshold: 1,
  forSeconds: 120,
  severity: 'critical',
  owner: 'Crawl team',
  channels: [WEBHOOK_ID],
  groupBy: 'rule',
  gatherSeconds: 30,
  repeatSeconds: 14_400,
  escalation: null
}

export const alert: Alert = {
  id: ALERT_ID,
  ruleId: ALERT_RULE_ID,
  ruleName: 'Nodes in Europe',
  watch: 'node_down',
  severity: 'critical',
  owner: 'Crawl team',
  state: 'firing',
  subject: 'north',
  value: 1,
  sinceMs: NOON_MS - 300_000,
  text: 'north is down: nothing listens on 10.0.0.7:6800',
  labels: {
    project: null,
    spider: null,
    jobId: null,
    scheduleId: null,
    errorGroupId: null,
    nodeId: NODE_ID,
    nodeTags: ['eu']
  },
  firedAtMs: NOON_MS - 180_000,
  resolvedAtMs: null,
  acknowledged: null,
  muted: null,
  isFlapping: false
}

export const silence: AlertSilence = {
  ...ANY,
  id: SILENCE_ID,
  ruleId: null,
  nodeTag: 'eu',
  fromMs: NOON_MS,
  untilMs: NOON_MS + 7_200_000,
  repeats: null,
  comment: 'The rack moves',
  by: 'anna'
}

export const alertChannel: AlertChannel = {
  id: WEBHOOK_ID,
  name: 'Crawl team',
  enabled: true,
  createdAtMs: NOON_MS - 86_400_000,
  hasSecret: true,
  target: {
    kind: 'email',
    to: ['crawl@example.org'],
    from: 'scrapdeck@example.org',
    host: 'mail.example.org',
    port: 587,
    security: 'starttls',
    username: 'scrapdeck'
  },
  quiet: { zone: 'Europe/Berlin', from: '22:00', until: '07:00', days: [0, 1, 2, 3, 4, 5, 6] },
  digest: { every: 'week', at: '08:00', zone: 'Europe/Berlin', weekday: 1 },
  messagesPerHour: 60,
  projects: [],
  lastDeliveredAtMs: NOON_MS - 170_000,
  waiting: 0,
  dead: 0,
  held: null,
  problem: null
}

export const alertEvidence: AlertEvidence = {
  log: {
    subject: 'shop/prices',
    jobId: JOB_ID,
    lines: ["KeyError: 'price'", '[scrapy.core.engine] INFO: Spider closed']
  },
  history: {
    title: 'Items of the last 2 runs of shop/prices',
    bars: [
      { value: 1_204, tone: 'past' },
      { value: 3, tone: 'now' }
    ],
    fromMs: NOON_MS - 86_400_000,
    untilMs: NOON_MS,
    caption: 'This run: 3 items. 1 other run: 1,204 items.'
  }
}

export const alertReport: AlertReport = {
  fromMs: NOON_MS - 7 * 86_400_000,
  untilMs: NOON_MS,
  runs: { succeeded: 412, failed: 6, lost: 1, cancelled: 2, unclear: 0 },
  runsBefore: { succeeded: 398, failed: 3, lost: 0, cancelled: 0, unclear: 0 },
  failing: [{ project: SHOP, spider: 'prices', failed: 6, runs: 28, reason: 'shutdown' }],
  newErrors: {
    count: 1,
    groups: [{ id: 7 as ErrorGroupId, project: SHOP, title: 'KeyError: price', runs: 3 }]
  },
  unusual: [{ project: SHOP, spider: 'stock', text: '40 % fewer items than usual' }],
  slowest: [{ project: SHOP, spider: 'prices', runs: 27, medianMs: 1_260_000, longestMs: 2_940_000 }],
  service: {
    alertsFired: 4,
    nodes: 3,
    nodesDown: [],
    queued: 12,
    databaseBytes: 48_000_000,
    logBytes: 310_000_000,
    diskFreePercent: 61.4
  },
  isComplete: true
}

export const figures: Figures = {
  sampledAtMs: NOON_MS,
  slotsTotal: 4,
  slotsUsed: 1,
  queued: 12,
  starting: 0,
  running: 1,
  finishedLastHour: 18,
  failedLastHour: 0,
  jobsPerMinute: 0.5,
  loopP99Ms: 2,
  paused: false
}

export const lane: LaneSummary = {
  lane: job.lane,
  project: SHOP,
  spider: 'prices',
  depth: 12,
  waiting: job.waiting!
}

export const source: SourceState = {
  id: SOURCE_ID,
  source: { kind: 'dns', hostname: 'scrapyd.crawl.svc', record: 'SRV', scheme: 'http', port: 6800, basePath: '/' },
  refreshSeconds: 30,
  node: { tags: ['eu'] },
  username: null,
  hasPassword: false,
  isFromConfiguration: false,
  refreshedAtMs: NOON_MS,
  problem: null,
  found: 3,
  vanished: 0,
  vanishedNodes: []
}

export const environment: Environment = {
  id: 'main',
  kind: 'main',
  state: 'ready',
  path: '/opt/scrapdeck/.venv/bin/python',
  version: '3.12.4',
  scrapyVersion: '2.13.3',
  projects: [SHOP],
  start: { mode: 'warm', text: 'Forked from a Python that has already imported Scrapy' },
  problem: null,
  progress: null,
  hasLog: false,
  madeAtMs: null
}

export const runFigures: RunFigures = {
  jobId: JOB_ID,
  attemptNumber: AttemptNumber.parse(1),
  isLive: true,
  isPartial: false,
  bytes: 84_113,
  lines: 812,
  pages: 120,
  items: 118,
  pagesPerMinute: 60,
  itemsPerMinute: 59,
  lastPageAtMs: NOON_MS + 120_000,
  lastItemAtMs: NOON_MS + 120_000,
  firstAtMs: NOON_MS + 2_000,
  lastAtMs: NOON_MS + 120_000,
  records: { DEBUG: 780, INFO: 20, WARNING: 1, ERROR: 0 },
  responses: { 200: 118, 404: 2 },
  notes: { retries: 3, duplicates: 12 },
  latest: { crawl: 'Crawled (200) <GET https://shop.example.com/p/118>' },
  scrapyVersion: '2.13.4',
  pythonVersion: '3.12.4',
  bot: 'shop',
  telnetConsole: null,
  resumedWith: null,
  shutdownReason: null,
  finishReason: null,
  series: { startMs: NOON_MS, widthMs: 60_000, pages: [58, 120], items: [57, 118], errors: [0, 0] }
}

export const errorGroup: ErrorGroup = {
  id: ErrorGroupId.parse(17),
  project: SHOP,
  state: 'open',
  stateAtMs: null,
  reopenedAtMs: null,
  title: 'ValueError: could not convert string to float: <text>',
  culprit: 'shop/spiders/prices.py in parse',
  exceptionType: 'ValueError',
  because: 'frames',
  firstVersion: SHOP_VERSION,
  spiders: ['prices'],
  firstSeenMs: NOON_MS - 7_200_000,
  lastSeenMs: NOON_MS + 90_000,
  count: 41,
  jobCount: 3,
  spiderCount: 1,
  versionCount: 1,
  nodeCount: 2,
  series: { startMs: NOON_MS - 43_200_000, widthMs: 21_600_000, counts: [0, 38, 3] }
}

export const errorOccurrence: ErrorOccurrence = {
  jobId: JOB_ID,
  attemptNumber: AttemptNumber.parse(1),
  spider: 'prices',
  version: SHOP_VERSION,
  nodeId: NODE_ID,
  count: 3,
  firstSeenMs: NOON_MS + 30_000,
  lastSeenMs: NOON_MS + 90_000,
  line: 412,
  offset: 52_311,
  message: 'Spider error processing <GET https://shop.example.com/p/118> (referer: None)'
}

export const spiderFindings: SpiderFindings = {
  project: SHOP,
  spider: 'prices',
  jobId: JOB_ID,
  endedAtMs: NOON_MS + 600_000,
  findings: [
    {
      metric: 'items',
      field: null,
      words: 'Items fell by 80 %: 125, usually 610 to 640',
      value: 125,
      usual: { low: 610, high: 640 }
    }
  ]
}

export const user: User = {
  id: USER_ID,
  name: 'anna',
  kind: 'person',
  role: 'operator',
  projects: {},
  nodeGroups: {},
  enabled: true,
  origin: 'local',
  hasPassword: true,
  hasAuthenticator: true,
  passkeyCount: 1,
  createdAtMs: NOON_MS - 86_400_000,
  lastSeenAtMs: NOON_MS
}

export const group: Group = {
  id: GROUP_ID,
  name: 'Crawl team',
  description: 'Runs the crawls of all shops',
  role: 'operator',
  projects: { [ProjectName.parse('shop')]: 'deployer' },
  nodeGroups: { eu: 'admin' },
  members: [USER_ID],
  createdAtMs: NOON_MS - 86_400_000
}

export const passkey: Passkey = {
  id: PasskeyId.parse('4d1f09c2ab7e4b5f8c6d2e1a90b3f7c5'),
  name: 'laptop',
  host: 'deck.example.org',
  createdAtMs: NOON_MS - 86_400_000,
  lastUsedAtMs: NOON_MS
}

export const auditEntry: AuditEntry = {
  seq: 1204,
  atMs: NOON_MS,
  address: '10.0.0.7',
  door: 'ui',
  requestId: '5f0c2a9d1e7b3c84',
  project: null,
  who: {
    userId: USER_ID,
    name: 'anna',
    role: 'admin',
    tokenId: null,
    tokenName: null,
    session: '8c1f20ab77de'
  },
  operation: 'nodes.update',
  targets: [{ noun: 'node', name: NODE_ID }],
  moreTargets: 0,
  input: `{"id":"${NODE_ID}","slots":8}`,
  changes: [{ noun: 'node', name: 'eu-1', fields: [{ field: 'slots', before: '4', after: '8' }] }],
  result: 'done',
  code: null,
  count: 1,
  isCut: false,
  previousHash: '3f786850e387550fdab836ed7e6dc881de23001b4b8e2a0fdd6f1f5d1f6c3b52',
  hash: '89e6c98d92887913cadf06b2adb97f26cde4849b1d4f2a6c07a3f0d9c4e5b617'
}

export const accessRole: AccessRole = {
  name: 'shop keeper',
  description: 'Runs and cancels jobs',
  permissions: ['read', 'jobs.run', 'jobs.cancel'],
  isBuiltIn: false,
  isForProjects: true
}

export const waitingSignIn: WaitingSignIn = {
  client: 'cli',
  host: 'build-7',
  user: 'anna',
  address: '10.0.0.7',
  beganAtMs: NOON_MS,
  endsAtMs: NOON_MS + 600_000
}

export const accessToken: AccessToken = {
  id: TOKEN_ID,
  userId: USER_ID,
  name: 'GitLab',
  role: 'deployer',
  projects: null,
  nodeGroups: null,
  ending: '1a2b3c4d',
  createdAtMs: NOON_MS,
  expiresAtMs: NOON_MS + 90 * 86_400_000,
  lastUsedAtMs: null
}

export const session: Session = {
  id: 'a3'.repeat(32),
  userId: USER_ID,
  userName: 'anna',
  signedInWith: 'password',
  isCurrent: false,
  createdAtMs: NOON_MS,
  lastSeenAtMs: NOON_MS,
  endsAtMs: NOON_MS + 30 * 86_400_000,
  address: '192.0.2.7',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
}
