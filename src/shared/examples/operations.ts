import type { InferContractRouterInputs, InferContractRouterOutputs } from '@orpc/contract'
import {
  AttemptNumber,
  AlertChannelSettings,
  ChainSettings,
  type Contract,
  ProjectName,
  RECOMMENDED_POLICY,
  ScheduleSettings
} from '../contract/index.ts'
import { namesOf } from '../permissions.ts'
import { permissionsOfRole } from '../roles.ts'
import {
  accessRole,
  accessToken,
  auditEntry,
  session,
  attempt,
  backfill,
  chain,
  crawlOrder,
  CHAIN_ID,
  deployment,
  environment,
  errorGroup,
  errorOccurrence,
  figures,
  firing,
  job,
  JOB_ID,
  lane,
  LATER_JOB_ID,
  missedFiring,
  node,
  NODE_ID,
  NOON_MS,
  project,
  runningJob,
  schedule,
  SCHEDULE_ID,
  SHOP,
  SHOP_VERSION,
  source,
  SOURCE_ID,
  transition,
  runFigures,
  spiderFindings,
  TOKEN_ID,
  usage,
  passkey,
  user,
  group,
  GROUP_ID,
  waitingSignIn,
  USER_ID,
  version,
  webhook,
  WEBHOOK_ID,
  alert,
  ALERT_ID,
  alertChannel,
  alertEvidence,
  alertReport,
  alertRule,
  ALERT_RULE_ID,
  silence,
  SILENCE_ID,
  pullingNode,
  TOKEN
} from './things.ts'

export interface Example<Input = unknown, Output = unknown> {
  summary: string
  input?: Input
  output: Output
}

type Event<Output> = Output extends AsyncIterator<infer One> ? One : Output
/** Has the shape of the contract, so that an operation without an example does not compile. */
type ExamplesOf<Inputs, Outputs> = {
  [Noun in keyof Inputs & keyof Outputs]: Noun extends 'crawl'
    ? Example<Inputs[Noun], Outputs[Noun]>
    : { [Verb in keyof Inputs[Noun] & keyof Outputs[Noun]]: Example<Inputs[Noun][Verb], Event<Outputs[Noun][Verb]>> }
}

const { id: _rule, revision: _revision, createdAtMs: _created, ...alertRuleSettings } = alertRule
const alertChannelSettings = AlertChannelSettings.parse(alertChannel)
const chainSettings = ChainSettings.parse(chain)
const { name, url, events } = webhook
const limit = { id: '1', project: null, spider: 'price*', tag: null, perNode: true, max: 1 }
const span = { fromMs: NOON_MS - 7 * 86_400_000, untilMs: NOON_MS }
const occurrence = { nominalMs: NOON_MS + 64_800_000, local: '2026-11-03T07:00:00+01:00', kind: 'normal' as const }
const ids = { ids: [JOB_ID] }
// src/shared has neither Node's nor a browser's types, but both have File.
const { File } = globalThis as unknown as { File: new (parts: never[], name: string) => never }
const EGG = new File([], 'shop-1.4.0.egg')
const PASSWORD = 'kestrel amber drawbridge'
const RECOVERY_CODE = '4f7q-9k2m-x0ab-c3de'
const yaml = 'scrapdeck: 1\nschedules:\n  - name: Prices each morning\n    zone: Europe/Berlin\n'
const { firstSeenMs, lastSeenMs } = errorGroup
const errorCounts = { count: 41, runCount: 3, firstSeenMs, lastSeenMs }
const fleetChange = {
  noun: 'schedule' as const,
  name: 'Prices each morning',
  act: 'change' as const,
  fields: [{ name: 'zone', from: 'UTC', to: 'Europe/Berlin' }]
}
const chunk = { offset: 0, nextOffset: 75, sizeBytes: 75, complete: false }
const logLine = '2026-11-02 12:00:02 [scrapy.core.engine] INFO: Spider opened\n'
const { path, version: pythonVersion, scrapyVersion, start, problem } = environment
const python = { state: 'ready' as const, path, version: pythonVersion, scrapyVersion, start, problem }

const storagePolicy = {
  ...RECOMMENDED_POLICY,
  projects: { [SHOP]: { logs: { days: 30, perSpider: null, bytes: 1_000_000_000 } } }
}
const storageRow = {
  project: SHOP,
  kind: 'logs' as const,
  count: 400,
  bytes: 5_000_000,
  oldestMs: NOON_MS - 100 * 86_400_000,
  newestMs: NOON_MS - 90 * 86_400_000
}

export const EXAMPLES: ExamplesOf<InferContractRouterInputs<Contract>, InferContractRouterOutputs<Contract>> = {
  crawl: {
    summary: 'Crawl now, later or repeatedly; a repeated request returns the existing job',
    input: {
      user_id: 'ann',
      spider: 'prices',
      start_urls: ['https://shop.example/shoes'],
      depth: 2,
      params: { currency: 'EUR', sizes: [38, 39], colour: null }
    },
    output: {
      status: 200,
      body: {
        job_id: JOB_ID,
        scheduled: false,
        cached: false,
        cached_at: null,
        logs_url: `/api/v1/jobs/${JOB_ID}/logs`
      }
    }
  },
  crawlOrders: {
    list: {
      summary: 'Repeated crawls by name, then single ones for later by time, by keyset',
      input: { user_id: 'ann', limit: 50 },
      output: { orders: [crawlOrder], next_after: null }
    },
    get: { summary: 'A crawl as it was ordered', input: { id: SCHEDULE_ID }, output: crawlOrder },
    update: {
      summary: 'Change a single crawl before it runs, or a repeated one for its next runs; pause or resume that',
      input: { id: SCHEDULE_ID, interval: '0 6 * * *', depth: 3 },
      output: { ...crawlOrder, interval: '0 6 * * *', depth: 3 }
    },
    cancel: {
      summary: 'Remove a repeated crawl, or cancel a single one',
      input: { id: SCHEDULE_ID },
      output: { cancelled: true }
    }
  },
  jobs: {
    list: {
      summary: 'Jobs, newest first, by keyset',
      input: { status: ['queued', 'running'], project: 'shop', limit: 50 },
      output: { jobs: [job], nextBefore: null }
    },
    facets: {
      summary: 'How many jobs there are by status, project and node',
      input: { project: 'shop' },
      output: {
        status: [{ value: 'queued', count: 12 }],
        project: [{ value: 'shop', count: 31 }],
        nodeId: [{ value: NODE_ID, count: 19 }]
      }
    },
    get: {
      summary: 'A job with its attempts and timeline',
      input: { id: JOB_ID },
      output: { job: runningJob, attempts: [attempt], timeline: [transition] }
    },
    status: {
      summary: 'The status of a job',
      input: { id: JOB_ID },
      output: {
        id: JOB_ID,
        status: 'running',
        state: 'running',
        outcome: null,
        reason: null,
        killingLine: null,
        waiting: null,
        nodeId: NODE_ID,
        attemptCount: 1,
        cancelAskedAtMs: null,
        unknownSinceMs: null,
        pages: 120,
        items: 118,
        errors: 0,
        queuedAtMs: NOON_MS,
        startedAtMs: NOON_MS + 2_000,
        endedAtMs: null
      }
    },
    figures: {
      summary: 'What the log of a run says, also while it runs',
      input: { id: JOB_ID },
      output: runFigures
    },
    running: {
      summary: 'All jobs that are on a node, with their processes',
      output: {
        jobs: [
          {
            id: JOB_ID,
            project: SHOP,
            spider: 'prices',
            sentVersion: SHOP_VERSION,
            nodeId: NODE_ID,
            state: 'running',
            status: 'running',
            attemptCount: 1,
            cancelAskedAtMs: null,
            unknownSinceMs: null,
            startedAtMs: NOON_MS + 2_000,
            pages: 120,
            items: 118,
            errors: 0,
            pagesPerMinute: 60,
            itemsPerMinute: 59,
            sentAtMs: NOON_MS + 1_000,
            pid: 4711,
            usage
          }
        ],
        total: 1
      }
    },
    usage: {
      summary: 'Memory and CPU of the newest run on the local node',
      input: { id: JOB_ID },
      output: { samples: [usage] }
    },
    run: {
      summary: 'Queue one job for each spider',
      input: { project: 'shop', spiders: ['prices'], args: { category: 'shoes' }, tags: ['eu'] },
      output: { jobs: [job] }
    },
    runMany: {
      summary: 'Queue up to 10,000 jobs in one transaction',
      input: {
        jobs: [
          { project: 'shop', spider: 'prices', args: { category: 'shoes' } },
          { project: 'shop', spider: 'prices', args: { category: 'hats' } }
        ]
      },
      output: { ids: [JOB_ID, LATER_JOB_ID], deduplicated: 0 }
    },
    count: {
      summary: 'How many of these jobs have which status',
      input: ids,
      output: { status: [{ value: 'queued', count: 1 }] }
    },
    setPriority: {
      summary: 'Set the priority of queued jobs',
      input: { ...ids, priority: 10 },
      output: { changed: [JOB_ID] }
    },
    reorder: {
      summary: 'Move queued jobs within their priority',
      input: { ...ids, to: 'front' },
      output: { changed: [JOB_ID] }
    },
    place: {
      summary: 'Set where queued jobs may run',
      input: { ...ids, nodeId: NODE_ID, tags: [] },
      output: { changed: [JOB_ID] }
    },
    runElsewhere: {
      summary: 'Give up jobs of an unreachable node and run them on other nodes',
      input: ids,
      output: { changed: [JOB_ID] }
    },
    cancel: {
      summary: 'Cancel jobs',
      input: { ...ids, force: false },
      output: { asked: [JOB_ID], alreadyEnded: [] }
    },
    restore: {
      summary: 'Restore jobs that were cancelled while queued',
      input: ids,
      output: { restored: [JOB_ID] }
    },
    keep: {
      summary: 'Keep jobs: retention never deletes them',
      input: { ids: [JOB_ID], keep: true },
      output: { changed: [JOB_ID] }
    },
    retry: {
      summary: 'Run the same jobs again, as new jobs',
      input: ids,
      output: { jobs: [{ ...job, id: LATER_JOB_ID, jobid: LATER_JOB_ID, source: 'retry' }] }
    }
  },
  queue: {
    limits: {
      summary: 'All limits, and how many runs count against each',
      output: { limits: [{ ...limit, live: 1 }] }
    },
    setLimits: {
      summary: 'Replace all limits',
      input: { limits: [limit] },
      output: { limits: [{ ...limit, live: 1 }] }
    },
    lanes: {
      summary: 'Waiting jobs by lane, and why they wait',
      input: { limit: 20 },
      output: { lanes: [lane], total: 12 }
    }
  },
  nodes: {
    list: { summary: 'All nodes', output: { nodes: [node] } },
    get: { summary: 'One node', input: { id: NODE_ID }, output: node },
    probe: {
      summary: 'Probe an address without saving anything',
      input: { url: 'eu-1.example.org:6800', username: 'deck', password: 'correct horse' },
      output: {
        url: node.url,
        reachable: true,
        health: 'up',
        problem: null,
        scrapydVersion: '1.6',
        nodeName: 'eu-1',
        running: 1,
        pending: 0,
        projects: ['shop'],
        latencyMs: 12,
        clockOffsetMs: 40,
        warnings: [],
        duplicateOf: NODE_ID,
        keepsPassword: null
      }
    },
    add: {
      summary: 'Add a node',
      input: { url: 'https://eu-1.example.org:6800', username: 'deck', password: 'correct horse', tags: ['eu'] },
      output: node
    },
    addPulling: {
      summary: 'Add a node that pulls its jobs',
      input: { name: 'behind-nat', tags: ['eu'] },
      output: { node: pullingNode, token: TOKEN }
    },
    renewToken: {
      summary: 'Give a pulling node a new token',
      input: { id: NODE_ID },
      output: { node: pullingNode, token: TOKEN }
    },
    revokeToken: {
      summary: 'Revoke the token of a pulling node',
      input: { id: NODE_ID },
      output: { ...pullingNode, hasToken: false }
    },
    update: { summary: 'Change a node', input: { id: NODE_ID, slots: 8 }, output: { ...node, slots: 8 } },
    setMode: {
      summary: 'Cordon, drain or activate a node',
      input: { id: NODE_ID, mode: 'draining' },
      output: { ...node, mode: 'draining' }
    },
    remove: { summary: 'Remove a node', input: { id: NODE_ID, force: false }, output: { removed: NODE_ID } },
    cancelExternal: {
      summary: 'Cancel an external job',
      input: { id: NODE_ID, project: 'shop', jobid: 'nightly-7' },
      output: { wasState: 'running' }
    },
    adoptExternal: {
      summary: 'Adopt an external job',
      input: { id: NODE_ID, project: 'shop', jobid: 'nightly-7' },
      output: { ...runningJob, jobid: 'nightly-7', source: 'adopted' }
    }
  },
  discovery: {
    list: { summary: 'All discovery sources', output: { sources: [source] } },
    put: {
      summary: 'Create or replace a discovery source',
      input: {
        id: 'pods',
        source: { kind: 'dns', hostname: 'scrapyd.crawl.svc', record: 'SRV' },
        node: { tags: ['eu'] }
      },
      output: source
    },
    remove: {
      summary: 'Remove a discovery source; its nodes stay',
      input: { id: 'pods' },
      output: { removed: SOURCE_ID }
    },
    refresh: { summary: 'Refresh a discovery source now', input: { id: 'pods' }, output: source }
  },
  projects: {
    list: { summary: 'All projects with their versions', output: { projects: [project] } },
    get: { summary: 'One project', input: { project: 'shop' }, output: project },
    upload: {
      summary: 'Upload an egg, or a zip of a folder with scrapy.cfg',
      input: { file: EGG, project: 'shop', version: '1.4.0' },
      output: { ...version, pinnedVersion: null }
    },
    deploy: {
      summary: 'Send a version to nodes now; progress as events',
      input: { project: 'shop', version: '1.4.0', nodeIds: [NODE_ID] },
      output: deployment
    },
    configure: {
      summary: 'Replace the settings of a project',
      input: { project: 'shop', settings: project.settings },
      output: project
    },
    changeSettings: {
      summary: 'Change some settings of a project',
      input: { project: 'shop', settings: { weight: 2 } },
      output: { ...project, settings: { ...project.settings, weight: 2 } }
    },
    setPaused: { summary: 'Pause or resume a project', input: { project: 'shop', paused: false }, output: project },
    pinVersion: {
      summary: 'Pin the active version of a project, roll back, or unpin (null)',
      input: { project: 'shop', version: '1.4.0' },
      output: { ...project, settings: { ...project.settings, pinnedVersion: version.version } }
    },
    deleteVersion: {
      summary: 'Delete a version here and on all nodes',
      input: { project: 'shop', version: '1.4.0' },
      output: { failedNodes: [] }
    },
    deleteProject: {
      summary: 'Delete a project here and on all nodes',
      input: { project: 'shop' },
      output: { failedNodes: [] }
    }
  },
  schedules: {
    list: {
      summary: 'Schedules by name, by keyset',
      input: { project: 'shop' },
      output: { schedules: [schedule], nextAfter: null, total: 1 }
    },
    get: { summary: 'One schedule', input: { id: SCHEDULE_ID }, output: schedule },
    create: {
      summary: 'Create a schedule',
      input: {
        name: 'Prices each morning',
        zone: 'Europe/Berlin',
        rules: [{ kind: 'cron', expression: '0 7 * * MON-FRI' }],
        jobs: [{ project: 'shop', spiders: ['prices'], args: { day: '{nominal:yyyy-MM-dd}' } }]
      },
      output: { schedule }
    },
    update: {
      summary: 'Replace the settings of a schedule',
      input: { ...ScheduleSettings.parse(schedule), id: SCHEDULE_ID, revision: schedule.revision },
      output: { schedule }
    },
    remove: {
      summary: 'Remove schedules with their history; their jobs stay',
      input: { ids: [SCHEDULE_ID] },
      output: { removed: [SCHEDULE_ID] }
    },
    setPaused: {
      summary: 'Pause or resume schedules',
      input: { ids: [SCHEDULE_ID], paused: true, note: 'The shop is being rebuilt' },
      output: {
        schedules: [{ ...schedule, paused: true, pauseNote: 'The shop is being rebuilt', pausedBy: 'operator' }]
      }
    },
    runNow: {
      summary: 'Run a schedule now, in addition to its times',
      input: { id: SCHEDULE_ID },
      output: { firing: { ...firing, origin: 'manual', reason: 'run_now', outcome: 'live', durationMs: null } }
    },
    preview: {
      summary: 'The next run times of a timing, which need not be saved',
      input: {
        timing: { zone: 'Europe/Berlin', rules: [{ kind: 'cron', expression: '0 7 * * MON-FRI' }] },
        fromMs: NOON_MS,
        count: 1
      },
      output: { words: 'At 07:00, Monday to Friday (Europe/Berlin)', occurrences: [occurrence] }
    },
    calendar: {
      summary: 'Run times of all schedules in a range',
      input: span,
      output: { moments: [{ scheduleId: SCHEDULE_ID, atMs: NOON_MS - 21_600_000 }], more: false }
    },
    load: {
      summary: 'How many schedules fire, minute by minute, compared with the slots of the fleet',
      input: span,
      output: { slots: 4, minutes: [{ atMs: NOON_MS - 21_600_000, firings: 1, jobs: 2 }] }
    },
    firings: {
      summary: 'Firings, newest first: fired, skipped, missed, failed',
      input: { scheduleId: SCHEDULE_ID, state: ['missed'] },
      output: { firings: [missedFiring], nextBefore: null }
    },
    planBackfill: {
      summary: 'Preview a backfill',
      input: { id: SCHEDULE_ID, ...span },
      output: { count: 4, jobs: 8, alreadyRun: 1, forgotten: 0, first: [occurrence], last: [occurrence] }
    },
    backfill: {
      summary: 'Backfill a range: run the times that have not run',
      input: { id: SCHEDULE_ID, ...span, concurrency: 1 },
      output: { backfill }
    },
    cancelBackfill: {
      summary: 'Cancel a backfill',
      input: { id: SCHEDULE_ID, cancelJobs: false },
      output: { backfill: { ...backfill, state: 'cancelled' } }
    }
  },
  findings: {
    list: { summary: 'Spiders whose newest run was unusual', output: { spiders: [spiderFindings] } },
    ofJob: {
      summary: 'How a job compares with earlier runs of its spider',
      input: { id: JOB_ID },
      output: {
        state: 'judged',
        neededRuns: 0,
        comparedRuns: 30,
        weekday: null,
        metrics: [{ metric: 'items', value: 125, usual: { low: 610, high: 640 } }],
        fields: {
          neededRuns: 0,
          comparedRuns: 12,
          shown: [{ field: 'price', value: 98.4, usual: { low: 98, high: 100 } }]
        },
        findings: spiderFindings.findings
      }
    },
    dismiss: {
      summary: 'Dismiss what is unusual about a run',
      input: { project: 'shop', spider: 'prices', jobId: JOB_ID },
      output: { dismissed: true }
    }
  },
  chains: {
    list: { summary: 'All chains', output: { chains: [chain] } },
    create: { summary: 'Create a chain', input: chainSettings, output: { chain } },
    update: { summary: 'Change a chain', input: { ...chainSettings, id: CHAIN_ID }, output: { chain } },
    remove: { summary: 'Remove a chain', input: { id: CHAIN_ID }, output: { removed: true } }
  },
  webhooks: {
    list: { summary: 'All webhooks', output: { webhooks: [webhook] } },
    create: {
      summary: 'Create a webhook; its secret is shown once',
      input: { name, url, events },
      output: { webhook, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }
    },
    update: {
      summary: 'Change a webhook',
      input: { id: WEBHOOK_ID, name, url, events, enabled: false },
      output: { webhook: { ...webhook, enabled: false } }
    },
    remove: { summary: 'Remove a webhook', input: { id: WEBHOOK_ID }, output: { removed: true } },
    rotate: {
      summary: 'Create a new secret; the old one stays valid for a day',
      input: { id: WEBHOOK_ID },
      output: { webhook, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }
    },
    test: { summary: 'Send a test event now', input: { id: WEBHOOK_ID }, output: { ok: true, answer: '204' } },
    deliveries: {
      summary: 'Deliveries of a webhook, newest first',
      input: { id: WEBHOOK_ID, state: 'dead' },
      output: {
        deliveries: [
          {
            id: 'msg_2kQd4f8a',
            webhookId: WEBHOOK_ID,
            event: 'job.ended',
            state: 'dead',
            tries: 10,
            madeAtMs: NOON_MS - 90_000_000,
            nextTryAtMs: null,
            endedAtMs: NOON_MS,
            answer: '503'
          }
        ],
        nextBefore: null
      }
    },
    replay: {
      summary: 'Redeliver; without ids, all dead deliveries',
      input: { id: WEBHOOK_ID, deliveryIds: [] },
      output: { replayed: 1 }
    }
  },
  alerts: {
    list: {
      summary: 'Alerts: firing ones first',
      input: { state: 'firing' },
      output: { alerts: [alert], nextBefore: null }
    },
    evidence: {
      summary: 'What helps to judge an alert: the end of the log of its run, and how the figure has been',
      input: { id: ALERT_ID },
      output: alertEvidence
    },
    acknowledge: {
      summary: 'Acknowledge alerts: they are not repeated and not escalated',
      input: { ids: [ALERT_ID] },
      output: { acknowledged: 1 }
    },
    notices: {
      summary: 'Notices sent to desktop channels after a position; without one, only the position to begin with',
      input: { after: 'msg_mk2f8z00_1a' },
      output: {
        notices: [
          {
            id: 'msg_mk2f8z00_1b',
            atMs: NOON_MS,
            groupId: 'a group',
            severity: alert.severity,
            body: alert.text,
            title: `Critical: ${alert.subject}`,
            alertIds: [ALERT_ID],
            retryJobIds: []
          }
        ],
        after: 'msg_mk2f8z00_1b'
      }
    },
    unacknowledge: {
      summary: 'Take the acknowledgement of alerts back: they are repeated and escalated again',
      input: { ids: [ALERT_ID] },
      output: { unacknowledged: 1 }
    },
    report: {
      summary: 'What happened in the last days: runs, failures, new errors',
      input: { days: 7 },
      output: alertReport
    }
  },
  alertRules: {
    list: {
      summary: 'All alert rules, with how often they fired and were acted on in 30 days',
      output: { rules: [{ ...alertRule, firing: 1, fired: 3, actedOn: 2, lastFiredAtMs: NOON_MS - 180_000 }] }
    },
    preview: {
      summary: 'Try an alert rule on the past: nothing is kept',
      input: { ...alertRuleSettings, days: 14 },
      output: {
        fired: 1,
        fromMs: NOON_MS - 14 * 86_400_000,
        isComplete: true,
        note: '',
        alerts: [
          {
            subject: alert.subject,
            text: alert.text,
            firedAtMs: NOON_MS - 86_400_000,
            resolvedAtMs: NOON_MS - 82_800_000
          }
        ]
      }
    },
    create: { summary: 'Create an alert rule', input: alertRuleSettings, output: { rule: alertRule } },
    update: {
      summary: 'Change an alert rule',
      input: { ...alertRuleSettings, id: ALERT_RULE_ID, revision: 1, enabled: false },
      output: { rule: { ...alertRule, revision: 2, enabled: false } }
    },
    remove: { summary: 'Remove an alert rule', input: { id: ALERT_RULE_ID }, output: { removed: true } },
    removeMany: {
      summary: 'Remove several alert rules at once',
      input: { ids: [ALERT_RULE_ID] },
      output: { removed: [ALERT_RULE_ID] }
    }
  },
  alertSilences: {
    list: { summary: 'Silences that have not ended', output: { silences: [silence] } },
    create: {
      summary: 'Silence alerts for a time, once or as a maintenance window that repeats',
      input: { nodeTag: 'eu', untilMs: silence.untilMs, comment: silence.comment },
      output: { silence }
    },
    remove: { summary: 'End a silence', input: { id: SILENCE_ID }, output: { removed: true } },
    removeMany: {
      summary: 'End several silences at once',
      input: { ids: [SILENCE_ID] },
      output: { removed: [SILENCE_ID] }
    }
  },
  alertChannels: {
    names: {
      summary: 'The names of the channels, for rules',
      output: { channels: [{ id: WEBHOOK_ID, name: alertChannel.name, kind: 'email', projects: [] }] }
    },
    list: { summary: 'All channels of alerts', output: { channels: [alertChannel] } },
    create: {
      summary: 'Create a channel of alerts',
      input: { ...alertChannelSettings, secret: 'kestrel amber drawbridge' },
      output: { channel: alertChannel }
    },
    update: {
      summary: 'Change a channel of alerts',
      input: { ...alertChannelSettings, id: WEBHOOK_ID, enabled: false },
      output: { channel: { ...alertChannel, enabled: false } }
    },
    remove: { summary: 'Remove a channel of alerts', input: { id: WEBHOOK_ID }, output: { removed: true } },
    test: {
      summary: 'Send an example, and show the conversation',
      input: { id: WEBHOOK_ID },
      output: { ok: true, answer: '250 OK', conversation: ['< 220 mail.example.org', '> EHLO scrapdeck'] }
    }
  },
  users: {
    me: {
      summary: 'Who you are here, and your role',
      output: {
        userId: USER_ID,
        name: 'anna',
        role: 'operator',
        tokenId: null,
        everywhere: 'operator',
        projects: {},
        nodeGroups: { eu: 'admin' },
        groups: ['Crawl team'],
        permissions: {
          everywhere: namesOf(permissionsOfRole('operator')),
          projects: {},
          nodeGroups: { eu: ['read', 'nodes.operate', 'nodes.change'] }
        }
      }
    },
    list: { summary: 'All users', output: { users: [user] } },
    create: {
      summary: 'Create a user',
      input: { name: 'anna', role: 'operator', password: 'kestrel amber drawbridge' },
      output: { user }
    },
    update: {
      summary: 'Change a user; a new password ends its sessions',
      input: { id: USER_ID, enabled: false },
      output: { user: { ...user, enabled: false } }
    },
    remove: { summary: 'Remove a user with all tokens', input: { id: USER_ID }, output: { removed: true } },
    changePassword: {
      summary: 'Change your own password',
      input: { current: 'kestrel amber drawbridge', password: 'lantern osprey cobblestone' },
      output: { changed: true }
    }
  },
  groups: {
    list: { summary: 'All groups of users, with their members', output: { groups: [group] } },
    create: {
      summary: 'Create a group of users',
      input: {
        name: 'Crawl team',
        role: 'operator',
        projects: { shop: 'deployer' },
        nodeGroups: { eu: 'admin' },
        members: [USER_ID]
      },
      output: { group }
    },
    update: {
      summary: 'Change a group of users; its members may do so from their next request on',
      input: { id: GROUP_ID, removeMembers: [USER_ID] },
      output: { group: { ...group, members: [] } }
    },
    remove: { summary: 'Remove a group of users; the users stay', input: { id: GROUP_ID }, output: { removed: true } }
  },
  roles: {
    list: { summary: 'The built-in roles and the custom ones', output: { roles: [accessRole] } },
    create: {
      summary: 'Create a role from permissions',
      input: {
        name: 'shop keeper',
        description: 'Runs and cancels jobs',
        permissions: ['read', 'jobs.run', 'jobs.cancel']
      },
      output: { role: accessRole }
    },
    update: {
      summary: 'Change a role for everybody who has it',
      input: { name: 'shop keeper', permissions: ['read', 'jobs.run', 'jobs.cancel'] },
      output: { role: accessRole }
    },
    remove: { summary: 'Remove an unused role', input: { name: 'shop keeper' }, output: { removed: true } }
  },
  secondFactors: {
    get: {
      summary: 'With what you can log in',
      output: {
        hasPassword: true,
        passkeys: [passkey],
        passkeyProblem: null,
        authenticator: { createdAtMs: NOON_MS, recoveryCodesLeft: 10 }
      }
    },
    beginAuthenticator: {
      summary: 'Get a secret for an authenticator app',
      input: { current: PASSWORD },
      output: {
        secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
        uri: 'otpauth://totp/Scrapdeck:anna?secret=JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP&issuer=Scrapdeck',
        qrCode: '<svg xmlns="http://www.w3.org/2000/svg"></svg>'
      }
    },
    confirmAuthenticator: {
      summary: 'Turn the authenticator app on; your other sessions end',
      input: { code: '492039' },
      output: { recoveryCodes: [RECOVERY_CODE] }
    },
    removeAuthenticator: {
      summary: 'Turn the authenticator app off',
      input: { current: PASSWORD },
      output: { removed: true }
    },
    renewRecoveryCodes: {
      summary: 'Replace your recovery codes',
      input: { current: PASSWORD },
      output: { recoveryCodes: [RECOVERY_CODE] }
    },
    beginPasskey: {
      summary: 'Get options for a new passkey',
      input: { current: PASSWORD },
      output: { options: { challenge: 'q1Y0p9o8i7u6', rp: { id: 'deck.example.org', name: 'Scrapdeck' } } }
    },
    addPasskey: {
      summary: 'Add a passkey that the browser has made',
      input: {
        name: 'laptop',
        credential: {
          id: 'AbCd',
          rawId: 'AbCd',
          type: 'public-key',
          clientExtensionResults: {},
          response: { clientDataJSON: 'eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0', attestationObject: 'o2NmbXRkbm9uZQ' }
        }
      },
      output: { passkey }
    },
    removePasskey: {
      summary: 'Remove a passkey; your other sessions end',
      input: { id: passkey.id, current: PASSWORD },
      output: { removed: true }
    },
    reset: {
      summary: 'Remove the second factors of a user, who logs in with the password again',
      input: { id: USER_ID },
      output: { user: { ...user, hasAuthenticator: false, passkeyCount: 0 } }
    }
  },
  sessions: {
    list: { summary: 'Your browser sessions; for owners, all', output: { sessions: [session] } },
    revoke: { summary: 'End a browser session', input: { id: session.id }, output: { revoked: true } }
  },
  tokens: {
    list: { summary: 'Your tokens; for owners, all', output: { tokens: [accessToken] } },
    create: {
      summary: 'Create a token; it is shown once',
      input: { name: 'GitLab', role: 'deployer', expiresInDays: 90 },
      output: { secret: 'sdk_Pq2Yz0Wf8Tn5Lk3Jh6Gd9Sa1Mb4Vc7Xe0Ru2Io5Pl8Q1a2b3c4d', token: accessToken }
    },
    revoke: { summary: 'Revoke a token', input: { id: TOKEN_ID }, output: { revoked: true } }
  },
  signIns: {
    get: { summary: 'The program that waits for this code', input: { userCode: 'WDJB-MJHT' }, output: waitingSignIn },
    approve: {
      summary: 'Sign in a program on a computer, with a token of its own',
      input: { to: { kind: 'code', userCode: 'WDJB-MJHT' }, role: 'operator', expiresInDays: 90 },
      output: { code: null }
    },
    deny: { summary: 'Refuse to sign in a program', input: { userCode: 'WDJB-MJHT' }, output: { denied: true } }
  },
  audit: {
    list: {
      summary: 'Who did or tried what, newest first',
      input: { operation: 'nodes', limit: 100 },
      output: { entries: [auditEntry], nextBefore: null }
    },
    export: {
      summary: 'All entries of the audit log, oldest first',
      input: { after: 1203, limit: 500 },
      output: { entries: [auditEntry], nextAfter: null }
    },
    verify: {
      summary: 'Check the chain of hashes of the audit log',
      input: { expect: auditEntry.hash },
      output: {
        head: { seq: auditEntry.seq, hash: auditEntry.hash, deletedSeq: 0 },
        checked: auditEntry.seq,
        broken: null,
        hasExpected: true
      }
    }
  },
  fleetFile: {
    export: { summary: 'Nodes, settings, schedules, chains and webhooks as one YAML file', output: { yaml } },
    plan: {
      summary: 'Preview what applying a fleet file would change',
      input: { yaml },
      output: { changes: [fleetChange] }
    },
    apply: { summary: 'Apply a fleet file', input: { yaml }, output: { changes: [fleetChange] } }
  },
  engines: {
    list: {
      summary: 'The engines on this database, and who leads since when',
      output: {
        shared: true,
        engines: [
          {
            id: '6f1d2c',
            name: 'north:6800',
            address: 'http://10.0.0.2:6800',
            version: '1.0.0',
            startedAtMs: NOON_MS - 3_600_000,
            state: 'leading',
            silentMs: 300,
            drained: false,
            hasLocalNode: true
          }
        ],
        terms: [{ epoch: 3, engine: 'north:6800', sinceMs: NOON_MS - 3_000_000, reason: 'south:6800 is gone' }]
      }
    },
    handOver: { summary: 'Let another engine lead', input: { to: '6f1d2c' }, output: { handedOver: true } },
    drain: {
      summary: 'Keep an engine from leading, before maintenance, or let it lead again',
      input: { id: '6f1d2c', drained: true },
      output: { drained: true }
    }
  },
  storage: {
    usage: {
      summary: 'What takes the disk, by project and kind',
      output: {
        projects: [
          {
            project: SHOP,
            jobs: { count: 31_000, bytes: 62_000_000 },
            logs: { count: 30_000, bytes: 410_000_000 },
            items: { count: 0, bytes: 0 },
            eggs: { count: 4, bytes: 96_000 }
          }
        ],
        database: { bytes: 96_000_000, freeBytes: 1_000_000, canShrink: true },
        cacheBytes: 12_000_000,
        searchIndexBytes: 9_000_000,
        totalBytes: 484_000_000,
        measuredAtMs: NOON_MS,
        encryption: {
          keyId: '3f9a1c52d07b8e64',
          state: 'sealed',
          sealed: 1_203,
          total: 1_203,
          lost: 0,
          sealedAtMs: NOON_MS,
          problem: null
        },
        disk: { totalBytes: 100_000_000_000, freeBytes: 52_000_000_000, fullAtMs: null },
        retention: {
          state: 'idle',
          startedAtMs: NOON_MS - 60_000,
          endedAtMs: NOON_MS,
          problem: null,
          jobs: 120,
          logs: 400,
          items: 0,
          eggs: 1,
          freedBytes: 5_200_000
        }
      }
    },
    policy: { summary: 'The retention policy', output: { revision: 1, policy: storagePolicy } },
    setPolicy: {
      summary: 'Replace the retention policy, which applies at once',
      input: { revision: 1, policy: storagePolicy },
      output: { revision: 2, policy: storagePolicy }
    },
    preview: {
      summary: 'What retention would delete, and what it would keep and why',
      input: { policy: storagePolicy },
      output: {
        goes: [storageRow],
        protected: [{ ...storageRow, count: 2, bytes: 30_000, reason: 'newest' }],
        freesBytes: 5_000_000,
        isCut: false
      }
    },
    run: { summary: 'Delete now what the policy lets go', output: { started: true } },
    compact: { summary: 'Rewrite the database without free pages', output: { freedBytes: 40_000_000 } }
  },
  environments: {
    list: { summary: 'Python environments of projects', output: { environments: [environment] } },
    log: {
      summary: 'The build log, as it grows',
      input: { id: 'main' },
      output: { text: 'Collecting scrapy\n' }
    },
    rebuild: { summary: 'Rebuild it', input: { id: 'main' }, output: environment },
    remove: {
      summary: 'Delete an environment that no project uses',
      input: { id: 'r-2f4d608a' },
      output: { removed: 'r-2f4d608a' }
    }
  },
  logs: {
    read: {
      summary: 'A range of the log, in bytes',
      input: { jobId: JOB_ID, offset: -4096 },
      output: { ...chunk, text: logLine }
    },
    tail: { summary: 'The log as it grows, in pieces', input: { jobId: JOB_ID }, output: { ...chunk, text: logLine } },
    locate: {
      summary: 'Find a line by number, byte or time',
      input: { jobId: JOB_ID, time: '14:05' },
      output: { line: 1_204, offset: 181_204, lines: 88_410, sizeBytes: 12_482_113 }
    },
    search: {
      summary: 'Search the whole log; lines arrive as they are found',
      input: { jobId: JOB_ID, text: 'timed? ?out', isRegex: true },
      output: {
        state: 'searching',
        matches: 1,
        searchedBytes: 12_482_113,
        sizeBytes: 12_482_113,
        found: [{ line: 1_204, offset: 181_204, text: 'TimeoutError: timed out', matchAt: 14, matchLength: 9 }]
      }
    },
    zip: {
      summary: 'The newest logs of many jobs as one zip archive, in pieces',
      input: { jobIds: [JOB_ID] },
      output: { base64: 'UEsDBBQACAgI', logs: 1 }
    },
    searchAll: {
      summary: 'Search the logs of all jobs, live ones first, then the newest; lines arrive as they are found',
      input: { text: 'timed? ?out', isRegex: true, project: 'shop-*', minLevel: 'ERROR' },
      output: {
        hits: [
          {
            line: 1_204,
            offset: 181_204,
            text: 'TimeoutError: timed out',
            matchAt: 14,
            matchLength: 9,
            jobId: JOB_ID,
            attemptNumber: AttemptNumber.parse(1),
            project: job.project,
            spider: job.spider,
            nodeId: NODE_ID,
            level: 'ERROR',
            time: '2026-11-02 14:05:10'
          }
        ],
        ruledOut: { logs: 48_210, bytes: 19_204_118_332 },
        scanned: { logs: 3, bytes: 3_145_728 },
        unreadable: 0,
        stoppedBy: 'hits',
        cursor: `${JOB_ID}.1.181205`
      }
    }
  },
  items: {
    describe: {
      summary: "What is known of a job's items: columns, size, how many",
      input: { jobId: JOB_ID, count: true },
      output: {
        attemptNumber: 1,
        from: 'node',
        nodeId: NODE_ID,
        format: 'jsonl',
        sizeBytes: 21_840,
        copiedBytes: 21_840,
        mayGrow: false,
        hasMoreFields: false,
        items: 118,
        unreadable: 0,
        endsInside: false,
        columns: [
          { name: 'name', type: 'text' },
          { name: 'price', type: 'number' }
        ],
        engine: 'duckdb',
        engineProblem: null
      }
    },
    page: {
      summary: 'Items as rows, filtered and sorted',
      input: {
        jobId: JOB_ID,
        limit: 1,
        columns: ['name', 'price'],
        sort: { field: 'price', descending: true },
        filter: [{ field: 'name', operator: 'contains', value: 'lamp' }]
      },
      output: {
        columns: ['name', 'price'],
        rows: [
          {
            index: 17,
            cells: [
              { type: 'text', text: 'Desk lamp', isCut: false },
              { type: 'number', text: '39.90', isCut: false }
            ]
          }
        ],
        nextOffset: 1
      }
    },
    read: {
      summary: 'One whole item',
      input: { jobId: JOB_ID, index: 17 },
      output: { index: 17, text: '{\n  "name": "Desk lamp",\n  "price": 39.90\n}', isCut: false, isReadable: true }
    },
    fieldStatistics: {
      summary: 'How often a field is filled, and with what; needs DuckDB',
      input: { jobId: JOB_ID, field: 'price' },
      output: {
        field: 'price',
        items: 118,
        unreadable: 0,
        filled: 116,
        distinct: 87,
        numbers: { count: 116, min: 2.5, max: 349, mean: 41.2 },
        length: { min: 3, max: 6, mean: 4.8 },
        top: [{ value: '9.99', count: 6 }]
      }
    },
    diff: {
      summary: 'What changed since another run; needs DuckDB',
      input: { jobId: JOB_ID, before: LATER_JOB_ID, key: 'name' },
      output: {
        before: { jobId: LATER_JOB_ID, items: 120, unreadable: 0 },
        after: { jobId: JOB_ID, items: 118, unreadable: 0 },
        fields: [{ name: 'price', before: 120, after: 116 }],
        added: 3,
        removed: 5,
        changed: 12,
        same: 103,
        repeatedKeys: 0,
        examples: { added: ['Desk lamp'], removed: ['Floor lamp'], changed: ['Candle'] }
      }
    },
    export: {
      summary: 'Write items into a file, with progress',
      input: { jobId: JOB_ID, format: 'csv' },
      output: { share: 1, file: { id: '5'.repeat(32), name: `items-${JOB_ID}.csv`, sizeBytes: 12, items: 118 } }
    },
    readExport: {
      summary: 'A piece of an exported file',
      input: { id: '5'.repeat(32) },
      output: { offset: 0, nextOffset: null, base64: 'bmFtZSxwcmljZQ0K' }
    }
  },
  errors: {
    list: {
      summary: 'Errors that runs logged, the same ones together; last seen first',
      input: { state: 'open', project: SHOP, limit: 50 },
      output: { groups: [errorGroup], nextBefore: null }
    },
    get: {
      summary: 'An error group with its newest occurrences',
      input: { id: errorGroup.id },
      output: {
        group: errorGroup,
        occurrences: [errorOccurrence],
        spiders: [{ value: 'prices', ...errorCounts }],
        versions: [{ value: SHOP_VERSION, ...errorCounts }],
        nodes: [{ value: NODE_ID, ...errorCounts }]
      }
    },
    ofJob: {
      summary: 'What a job logged, by group',
      input: { jobId: JOB_ID },
      output: { errors: [{ group: errorGroup, occurrence: errorOccurrence }] }
    },
    setState: {
      summary: 'Resolve, ignore or reopen error groups',
      input: { ids: [errorGroup.id], state: 'resolved' },
      output: { changed: [errorGroup.id] }
    }
  },
  events: {
    subscribe: {
      summary: 'What changes, as it changes; resumes by cursor',
      input: { after: '3f9a01-1041' },
      output: { cursor: '3f9a01-1042', reset: false, changes: [{ kind: 'job', job: runningJob }] }
    }
  },
  system: {
    status: {
      summary: 'Version, address, figures and problems',
      output: {
        scrapdeckVersion: '0.1.0',
        startedAtMs: NOON_MS - 86_400_000,
        address: 'http://127.0.0.1:6800',
        host: 'service',
        secrets: { store: 'file', text: 'secret.key in the data directory' },
        figures,
        problems: [],
        python
      }
    },
    history: { summary: 'Samples of the figures of the last hour', output: { samples: [figures] } },
    logOutEverywhere: { summary: 'End all browser sessions', output: { ended: 3 } },
    setPaused: { summary: 'Pause or resume the whole queue', input: { paused: true }, output: { paused: true } },
    runDemo: {
      summary: 'Queue a run of the bundled demo',
      output: { job: { ...job, project: ProjectName.parse('demo'), source: 'demo' } }
    },
    createEnvironment: {
      summary: 'Create a Python environment with Scrapy for the local node; progress as events',
      output: { text: 'Installing Scrapy', done: false, share: 0.4 }
    }
  }
}

export function exampleOf(operationId: string): Example | undefined {
  const [noun = '', verb] = operationId.split('.')
  const found = Object.hasOwn(EXAMPLES, noun) ? (EXAMPLES as Record<string, object>)[noun] : undefined
  if (found === undefined || verb === undefined) return found as Example | undefined
  return Object.hasOwn(found, verb) ? (found as Record<string, Example>)[verb] : undefined
}
