import { implement } from '@orpc/server'
import {
  type Alert,
  type AlertChannel,
  type AlertEvidence,
  type AlertNotice,
  type AlertReport,
  type AlertLabels,
  type AlertRule,
  AlertRuleSettings,
  type AlertRuleState,
  type AlertSilence,
  contract,
  type Job
} from '../../shared/contract/index.ts'
import { ALERT_WATCHES, type AlertWatch } from '../../shared/alert-watches.ts'
import { areApart, isZone, windowFrom } from '../../shared/calendar/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { aNodeId, aProjectName, aWebhookId, branded } from '../../shared/testing/ids.ts'
import type { FakeWorld } from './fake-world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const NO_LABELS: AlertLabels = {
  project: null,
  spider: null,
  jobId: null,
  scheduleId: null,
  errorGroupId: null,
  nodeId: null,
  nodeTags: []
}

/** Alerts, rules, silences and channels in memory. Rules never fire and channels send nothing. */
export function createFakeAlerts(world: FakeWorld) {
  const { firstRun, emit, nextNumber } = world
  const os = implement(contract)
  const nowMs = Date.now()
  const rules = new Map((firstRun ? [] : fakeRules(nowMs)).map((rule) => [rule.id, rule]))
  const alerts = new Map((firstRun ? [] : fakeAlerts(world, [...rules.values()], nowMs)).map((one) => [one.id, one]))
  const silences = new Map((firstRun ? [] : fakeSilences(nowMs)).map((silence) => [silence.id, silence]))
  const channels = new Map((firstRun ? [] : fakeChannels(nowMs)).map((channel) => [channel.id, channel]))
  const notices: AlertNotice[] = []
  const changed = () => emit({ kind: 'alerts' })
  const positionOf = (count: number) => (count === 0 ? '0' : `msg_0_${count.toString(36)}`)
  const notify = (notice: Omit<AlertNotice, 'id' | 'atMs'>) => {
    notices.push({ ...notice, id: positionOf(notices.length + 1), atMs: Date.now() })
    changed()
  }

  const ruleOf = (id: string): AlertRuleState =>
    rules.get(branded(id)) ??
    fail('ALERT_RULE_NOT_FOUND', `There is no alert rule ${id}; it may have been removed. Reload the list`)
  const channelOf = (id: string): AlertChannel =>
    channels.get(aWebhookId(id)) ??
    fail('ALERT_CHANNEL_NOT_FOUND', `There is no alert channel ${id}; it may have been removed. Reload the list`)
  const checkRule = (rule: AlertRuleSettings) => {
    if (rule.watch === 'spider_overdue' && (rule.project === null || rule.spider === null))
      fail('BAD_INPUT', 'Name the project and the spider that must succeed: of all spiders, some are not meant to run.')
    for (const id of [...rule.channels, ...(rule.escalation?.channels ?? [])]) channelOf(id)
  }
  const checkChannel = ({ target }: Pick<AlertChannel, 'target'>) => {
    if (target.kind === 'webhook' && /localhost|127\.|10\./.test(target.url))
      fail(
        'WEBHOOK_URL_FORBIDDEN',
        `${target.url} is inside this network. Allow the network in the configuration (webhook_networks), or use another address.`
      )
  }
  const saveRule = (rule: AlertRule, before?: AlertRuleState) => {
    rules.set(rule.id, { ...(before ?? { firing: 0, fired: 0, actedOn: 0, lastFiredAtMs: null }), ...rule })
    changed()
    return { rule }
  }
  const saveChannel = (channel: AlertChannel) => {
    channels.set(channel.id, channel)
    changed()
    return { channel }
  }
  const mute = () => {
    for (const one of alerts.values()) {
      const isSilenced = [...silences.values()].some((silence) => isAbout(silence, one))
      if (one.muted === null || one.muted === 'silenced')
        alerts.set(one.id, { ...one, muted: isSilenced ? 'silenced' : null })
    }
    changed()
  }
  const me = 'anna'

  return {
    alerts: {
      list: os.alerts.list.handler(({ input: { state, ruleId, before, limit } }) => {
        const found = [...alerts.values()]
          .filter((one) => (state === undefined || one.state === state) && (ruleId ?? one.ruleId) === one.ruleId)
          .toSorted(byUrgency)
        const start = before === undefined ? 0 : found.findIndex((one) => cursorOf(one) === before) + 1
        const page = found.slice(start, start + limit)
        return { alerts: page, nextBefore: found.length > start + limit ? cursorOf(page.at(-1)!) : null }
      }),
      evidence: os.alerts.evidence.handler(({ input: { id } }) => {
        const alert = alerts.get(id) ?? fail('ALERT_NOT_FOUND', `There is no alert ${id}. Reload the list`)
        return evidenceOf(alert)
      }),
      acknowledge: os.alerts.acknowledge.handler(({ input: { ids } }) => {
        const asked = ids.flatMap((id) => alerts.get(id) ?? [])
        const open = asked.filter(({ state, acknowledged }) => state === 'firing' && acknowledged === null)
        for (const one of open) alerts.set(one.id, { ...one, acknowledged: { by: me, atMs: Date.now() } })
        changed()
        return { acknowledged: open.length }
      }),
      notices: os.alerts.notices.handler(({ input: { after } }) => {
        const begin = after === undefined ? notices.length : Number.parseInt(after.split('_')[2] ?? '0', 36)
        return { notices: notices.slice(begin), after: positionOf(notices.length) }
      }),
      unacknowledge: os.alerts.unacknowledge.handler(({ input: { ids } }) => {
        const asked = ids.flatMap((id) => alerts.get(id) ?? [])
        const taken = asked.filter(({ state, acknowledged }) => state === 'firing' && acknowledged !== null)
        for (const one of taken) alerts.set(one.id, { ...one, acknowledged: null })
        changed()
        return { unacknowledged: taken.length }
      }),
      report: os.alerts.report.handler(({ input: { days } }) => aReport(Date.now(), days))
    },
    alertRules: {
      list: os.alertRules.list.handler(() => ({ rules: [...rules.values()] })),
      preview: os.alertRules.preview.handler(({ input }) => {
        checkRule(input)
        const past = [...alerts.values()].filter(({ watch }) => watch === input.watch)
        // The service records its own figures only while it runs.
        const isRecorded = ['queue_length', 'disk_free', 'node_stuck'].includes(input.watch)
        return {
          fired: past.length,
          fromMs: Date.now() - input.days * DAY_MS,
          isComplete: !isRecorded,
          note: isRecorded ? 'Nothing has been recorded yet' : '',
          alerts: past.map(({ subject, text, firedAtMs, resolvedAtMs }) => ({
            subject,
            text,
            resolvedAtMs,
            firedAtMs: firedAtMs ?? Date.now()
          }))
        }
      }),
      create: os.alertRules.create.handler(({ input }) => {
        checkRule(input)
        return saveRule({ ...input, id: branded(idOf(nextNumber())), revision: 1, createdAtMs: Date.now() })
      }),
      update: os.alertRules.update.handler(({ input }) => {
        const before = ruleOf(input.id)
        checkRule(input)
        if (before.revision !== input.revision)
          fail(
            'CHANGED_MEANWHILE',
            `The alert rule ${before.name} was changed in the meantime. Reload it and try again`
          )
        return saveRule({ ...input, revision: before.revision + 1, createdAtMs: before.createdAtMs }, before)
      }),
      remove: os.alertRules.remove.handler(({ input }) => {
        ruleOf(input.id)
        for (const one of alerts.values())
          if (one.ruleId === input.id && one.state === 'firing')
            alerts.set(one.id, { ...one, state: 'resolved', resolvedAtMs: Date.now() })
        const removed = rules.delete(input.id)
        changed()
        return { removed }
      }),
      removeMany: os.alertRules.removeMany.handler(({ input: { ids } }) => {
        const removed = ids.filter((id) => rules.delete(id))
        changed()
        return { removed }
      })
    },
    alertSilences: {
      list: os.alertSilences.list.handler(() => ({ silences: [...silences.values()] })),
      create: os.alertSilences.create.handler(({ input }) => {
        if (input.ruleId !== null) ruleOf(input.ruleId)
        const fromMs = input.repeats === null ? Math.max(input.fromMs ?? 0, Date.now()) : (input.fromMs ?? Date.now())
        if (input.untilMs <= fromMs)
          fail('BAD_INPUT', 'A silence ends after it begins and within a year: choose another end.')
        const silence: AlertSilence = { ...input, fromMs, id: branded(idOf(nextNumber())), by: me }
        if (
          input.repeats !== null &&
          !(isZone(input.repeats.zone) && areApart(silence) && windowFrom(silence, Date.now()))
        )
          fail('BAD_INPUT', 'This silence would never hold.')
        silences.set(silence.id, silence)
        mute()
        return { silence }
      }),
      remove: os.alertSilences.remove.handler(({ input }) => {
        if (!silences.delete(input.id))
          fail('ALERT_SILENCE_NOT_FOUND', `There is no silence ${input.id}; it may have ended. Reload the list`)
        mute()
        return { removed: true }
      }),
      removeMany: os.alertSilences.removeMany.handler(({ input: { ids } }) => {
        const removed = ids.filter((id) => silences.delete(id))
        mute()
        return { removed }
      })
    },
    alertChannels: {
      names: os.alertChannels.names.handler(() => ({
        channels: [...channels.values()].map(({ id, name, target: { kind }, projects }) => ({
          id,
          name,
          kind,
          projects
        }))
      })),
      list: os.alertChannels.list.handler(() => ({ channels: [...channels.values()] })),
      create: os.alertChannels.create.handler(({ input: { secret, ...settings } }) => {
        checkChannel(settings)
        const isWebhook = settings.target.kind === 'webhook'
        const { channel } = saveChannel({
          ...settings,
          id: aWebhookId(idOf(nextNumber())),
          createdAtMs: Date.now(),
          lastDeliveredAtMs: null,
          hasSecret: isWebhook || secret !== undefined,
          waiting: 0,
          dead: 0,
          held: null,
          problem: null
        })
        return { channel, ...(isWebhook && { secret: `whsec_${btoa(`not a real secret ${nextNumber()}`)}` }) }
      }),
      update: os.alertChannels.update.handler(({ input: { secret, ...settings } }) => {
        const before = channelOf(settings.id)
        checkChannel(settings)
        return saveChannel({ ...before, ...settings, hasSecret: before.hasSecret || secret !== undefined })
      }),
      remove: os.alertChannels.remove.handler(({ input }) => {
        channelOf(input.id)
        const removed = channels.delete(input.id)
        changed()
        return { removed }
      }),
      test: os.alertChannels.test.handler(({ input }) => {
        const { problem, target, enabled } = channelOf(input.id)
        if (target.kind === 'desktop') {
          const test = { groupId: 'test', severity: null, title: 'Test: Scrapdeck', alertIds: [], retryJobIds: [] }
          if (enabled) notify({ ...test, body: 'This is a test message from Scrapdeck. Nothing is wrong.' })
          return { ok: enabled, answer: enabled ? 'Everybody gets it now.' : 'It is turned off.', conversation: [] }
        }
        if (target.kind !== 'email')
          return problem === null
            ? { ok: true, answer: '200 ok after 131 ms', conversation: ['> POST (the address is secret)', '< 200 ok'] }
            : {
                ok: false,
                answer: '404 no_service',
                conversation: ['> POST (the address is secret)', '< 404 no_service']
              }
        return {
          ok: false,
          answer: '535 5.7.8 Authentication credentials invalid',
          conversation: [
            `< 220 ${target.host} ESMTP`,
            '> EHLO scrapdeck',
            '< 250-STARTTLS',
            '> STARTTLS',
            '< 220 Ready to start TLS',
            '> AUTH PLAIN (secret)',
            '< 535 5.7.8 Authentication credentials invalid'
          ]
        }
      })
    }
  }
}

function fail(code: ConstructorParameters<typeof ScrapdeckError>[0], text: string): never {
  throw new ScrapdeckError(code, text)
}

const idOf = (number: number) => `a1e7${number.toString(16)}`.padEnd(32, '0')

const RANK = { critical: 0, warning: 1, info: 2 }

const cursorOf = ({ id, resolvedAtMs }: Alert): string => `${resolvedAtMs ?? Date.UTC(9999, 0)}-${id}`

/** Firing alerts come first, by severity; then resolved ones, newest first. */
function byUrgency(one: Alert, other: Alert): number {
  if (one.state !== other.state) return one.state === 'firing' ? -1 : 1
  if (one.state === 'resolved')
    return (other.resolvedAtMs ?? 0) - (one.resolvedAtMs ?? 0) || (one.id < other.id ? -1 : 1)
  return RANK[one.severity] - RANK[other.severity] || (other.firedAtMs ?? 0) - (one.firedAtMs ?? 0)
}

function isAbout(silence: AlertSilence, { ruleId, labels }: Alert): boolean {
  const nowMs = Date.now()
  return (
    (windowFrom(silence, nowMs)?.fromMs ?? Number.POSITIVE_INFINITY) <= nowMs &&
    (silence.ruleId ?? ruleId) === ruleId &&
    (silence.project ?? labels.project) === labels.project &&
    (silence.spider ?? labels.spider) === labels.spider &&
    (silence.scheduleId ?? labels.scheduleId) === labels.scheduleId &&
    (silence.nodeId ?? labels.nodeId) === labels.nodeId &&
    (silence.nodeTag === null || labels.nodeTags.includes(silence.nodeTag))
  )
}

const MAIL = aWebhookId(idOf(201))
const SLACK = aWebhookId(idOf(202))
const PAGER = aWebhookId(idOf(203))
const OLD = aWebhookId(idOf(204))

function fakeRules(nowMs: number): AlertRuleState[] {
  const rule = (
    number: number,
    watch: AlertWatch,
    over: Partial<AlertRuleState> & Pick<AlertRuleState, 'name'>
  ): AlertRuleState => ({
    ...AlertRuleSettings.parse({
      name: over.name,
      watch,
      channels: [SLACK],
      comparison: ALERT_WATCHES[watch].compares[0],
      ...ALERT_WATCHES[watch].usual
    }),
    id: branded(idOf(number)),
    revision: 1,
    createdAtMs: nowMs - 60 * DAY_MS,
    firing: 0,
    fired: 0,
    actedOn: 0,
    lastFiredAtMs: null,
    ...over
  })
  return [
    rule(1, 'node_down', {
      name: 'A node does not respond',
      channels: [PAGER, SLACK],
      owner: 'platform',
      groupBy: 'rule',
      escalation: { afterSeconds: 900, channels: [MAIL] },
      firing: 2,
      fired: 14,
      actedOn: 11,
      lastFiredAtMs: nowMs - 6 * MINUTE_MS
    }),
    rule(2, 'spider_fails', {
      name: 'prices: three failures in a row',
      project: aProjectName('prices'),
      threshold: 3,
      owner: 'pricing',
      severity: 'critical',
      channels: [SLACK, MAIL],
      firing: 1,
      fired: 9,
      actedOn: 8,
      lastFiredAtMs: nowMs - 48 * MINUTE_MS
    }),
    rule(3, 'spider_items', {
      name: 'news: fewer than 20 items',
      project: aProjectName('news'),
      threshold: 20,
      firing: 1,
      fired: 41,
      actedOn: 2,
      lastFiredAtMs: nowMs - 3 * HOUR_MS
    }),
    rule(4, 'job_waits_long', {
      name: 'A job waits longer than an hour',
      firing: 1,
      fired: 6,
      actedOn: 3,
      lastFiredAtMs: nowMs - 75 * MINUTE_MS
    }),
    rule(5, 'error_appears', {
      name: 'New errors',
      severity: 'info',
      channels: [SLACK],
      groupBy: 'project',
      repeatSeconds: null,
      fired: 23,
      actedOn: 9,
      lastFiredAtMs: nowMs - 5 * HOUR_MS
    }),
    rule(6, 'disk_free', { name: 'The service’s disk fills', channels: [PAGER], owner: 'platform' }),
    rule(7, 'spider_overdue', {
      name: 'maps/osm_poi has not succeeded for a day',
      project: aProjectName('maps'),
      spider: 'osm_poi',
      enabled: false,
      channels: [OLD]
    })
  ]
}

function fakeAlerts(world: FakeWorld, rules: readonly AlertRuleState[], nowMs: number): Alert[] {
  const jobs = [...world.jobs.values()]
  const jobOf = (project: string, isOne: (job: Job) => boolean) =>
    jobs.find((job) => job.project === project && isOne(job)) ?? null
  const failed = jobOf('prices', ({ outcome }) => outcome === 'failed')
  const short = jobOf('news', ({ outcome }) => outcome === 'succeeded')
  const waiting = jobs.find(({ state }) => state === 'queued') ?? null
  let number = 100
  const alert = (
    rule: AlertRuleState,
    over: Partial<Alert> & Pick<Alert, 'subject' | 'text' | 'sinceMs'>,
    labels: Partial<AlertLabels>
  ): Alert => ({
    id: branded(idOf(++number)),
    ruleId: rule.id,
    ruleName: rule.name,
    watch: rule.watch,
    owner: rule.owner,
    severity: rule.severity,
    state: 'firing',
    value: 1,
    resolvedAtMs: null,
    acknowledged: null,
    muted: null,
    isFlapping: false,
    firedAtMs: over.sinceMs + rule.forSeconds * 1000,
    ...over,
    labels: { ...NO_LABELS, ...labels }
  })
  const [down, fails, items, waits, errors] = rules as [
    AlertRuleState,
    AlertRuleState,
    AlertRuleState,
    AlertRuleState,
    AlertRuleState
  ]
  const spiderOf = (job: Job | null, project: string, spider: string) => ({
    labels: { project: job?.project ?? aProjectName(project), spider: job?.spider ?? spider, jobId: job?.id ?? null },
    subject: `${job?.project ?? project}/${job?.spider ?? spider}`
  })
  const failing = spiderOf(failed, 'prices', 'otto')
  const few = spiderOf(short, 'news', 'reuters')
  const stuck = spiderOf(waiting, 'maps', 'transit')
  const node = (name: string) => ({ nodeId: aNodeId(name), nodeTags: [name.split('-')[0]!] })
  const past = (rule: AlertRuleState, hoursAgo: number, minutes: number, over: Partial<Alert>): Alert =>
    alert(
      rule,
      {
        subject: 'eu-3',
        text: 'eu-3 is down: connect ETIMEDOUT 10.4.0.13:6800',
        state: 'resolved',
        sinceMs: nowMs - hoursAgo * HOUR_MS,
        resolvedAtMs: nowMs - hoursAgo * HOUR_MS + minutes * MINUTE_MS,
        ...over
      },
      over.labels ?? node('eu-3')
    )
  return [
    alert(
      down,
      { subject: 'us-2', text: 'us-2 is down: connect ECONNREFUSED 10.2.0.12:6800', sinceMs: nowMs - 8 * MINUTE_MS },
      node('us-2')
    ),
    alert(
      down,
      {
        subject: 'lab-b',
        text: 'lab-b is down: no response within 10 s',
        sinceMs: nowMs - 26 * HOUR_MS,
        muted: 'node_cordoned'
      },
      node('lab-b')
    ),
    alert(
      fails,
      {
        subject: failing.subject,
        value: 4,
        sinceMs: nowMs - 48 * MINUTE_MS,
        text: `the last 4 runs of ${failing.subject} failed: KeyError: 'offerPrice'`,
        acknowledged: { by: 'ben', atMs: nowMs - 31 * MINUTE_MS }
      },
      failing.labels
    ),
    alert(
      items,
      {
        subject: few.subject,
        value: 3,
        sinceMs: nowMs - 3 * HOUR_MS,
        isFlapping: true,
        text: `the run of ${few.subject} has 3 items`
      },
      few.labels
    ),
    alert(
      waits,
      {
        subject: stuck.subject,
        sinceMs: nowMs - 135 * MINUTE_MS,
        muted: 'silenced',
        text: `a job of ${stuck.subject} waits for 2 h: no node has the tag gpu`
      },
      stuck.labels
    ),
    past(errors, 5, 300, {
      subject: 'prices',
      text: 'new error: ValueError: could not convert string to float: <text>',
      severity: 'info',
      labels: { ...NO_LABELS, project: aProjectName('prices') },
      resolvedAtMs: nowMs - 20_000
    }),
    past(down, 9, 12, { acknowledged: { by: 'anna', atMs: nowMs - 9 * HOUR_MS + 4 * MINUTE_MS } }),
    past(items, 14, 61, {
      subject: few.subject,
      text: `the run of ${few.subject} has 0 items`,
      labels: { ...NO_LABELS, ...few.labels }
    }),
    past(items, 27, 122, {
      subject: few.subject,
      text: `the run of ${few.subject} has 11 items`,
      labels: { ...NO_LABELS, ...few.labels }
    }),
    past(down, 49, 3, {
      subject: 'ap-2',
      text: 'ap-2 is down: no response within 10 s',
      labels: { ...NO_LABELS, ...node('ap-2') }
    })
  ]
}

function evidenceOf({ watch, subject, value, labels: { jobId }, sinceMs }: Alert): AlertEvidence {
  if (watch !== 'spider_items' && watch !== 'spider_fails') return { log: null, history: null }
  const isOfItems = watch === 'spider_items'
  const items = [610, 622, 640, 618, 596, 631, 627, 640, 612, 604, 633, 95, 617, 628, 621, value]
  const runs = [0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1]
  const last = runs.length - 1
  return {
    log: jobId === null ? null : { subject, jobId, lines: isOfItems ? FEW_ITEMS : TRACEBACK },
    history: {
      fromMs: sinceMs - last * 6 * HOUR_MS,
      untilMs: sinceMs,
      title: `${isOfItems ? 'Items' : 'Outcomes'} of the last ${runs.length} runs of ${subject}`,
      bars: isOfItems
        ? items.map((count, at) => ({ value: count, tone: at === last ? 'now' : 'past' }))
        : runs.map((failed) => ({ value: failed, tone: failed === 1 ? 'failed' : 'succeeded' })),
      caption: isOfItems
        ? `This run: ${value} items. ${last} other runs: 95 to 640 items.`
        : 'Tall bars are failed runs: 6 of 16, the last 4 in a row.'
    }
  }
}

const FEW_ITEMS = [
  '2026-11-28 10:36:58 [scrapy.core.engine] INFO: Spider opened',
  '2026-11-28 10:37:01 [scrapy.downloadermiddlewares.retry] DEBUG: Retrying <GET https://news.example/p/12?page=3> (failed 1 times): 503 Service Unavailable',
  '2026-11-28 10:37:02 [scrapy.core.engine] INFO: Closing spider (finished)',
  '2026-11-28 10:37:02 [scrapy.statscollectors] INFO: Dumping Scrapy stats: (42 lines left out)',
  '2026-11-28 10:37:02 [scrapy.core.engine] INFO: Spider closed (finished)'
]
const TRACEBACK = [
  ...Array.from(
    { length: 12 },
    (_, at) => `2026-11-28 10:36:${10 + at} [otto] DEBUG: Page ${at + 1} of the category read`
  ),
  '2026-11-28 10:37:02 [scrapy.core.scraper] \u001b[31mERROR\u001b[0m: Spider error processing <GET https://otto.example/p/12?page=3&sort=price> (referer: None)',
  'Traceback (most recent call last):',
  '  File "/srv/prices/spiders/otto.py", line 41, in parse',
  "    price = product['offerPrice']['amount']",
  '            ~~~~~~~^^^^^^^^^^^^^^',
  "KeyError: 'offerPrice'",
  '2026-11-28 10:37:02 [scrapy.core.engine] INFO: Spider closed (shutdown)'
]

function fakeSilences(nowMs: number): AlertSilence[] {
  const anything = { project: null, spider: null, scheduleId: null, nodeId: null, nodeTag: null, ruleId: null }
  return [
    {
      ...anything,
      id: branded<AlertSilence['id']>(idOf(301)),
      ruleId: branded<AlertRule['id']>(idOf(4)),
      fromMs: nowMs - 2 * HOUR_MS,
      untilMs: nowMs + 3 * HOUR_MS,
      repeats: null,
      by: 'ben',
      comment: 'GPU nodes come back this afternoon'
    },
    {
      ...anything,
      id: branded<AlertSilence['id']>(idOf(302)),
      nodeTag: 'ap',
      fromMs: nowMs + 8 * HOUR_MS,
      untilMs: nowMs + 12 * HOUR_MS,
      repeats: null,
      by: 'anna',
      comment: 'Maintenance of the data centre'
    }
  ]
}

function aReport(nowMs: number, days: number): AlertReport {
  const counts = { succeeded: 412 * days, failed: 9 * days, lost: 1, cancelled: 3, unclear: 0 }
  return {
    fromMs: nowMs - days * DAY_MS,
    untilMs: nowMs,
    runs: counts,
    runsBefore: { ...counts, failed: 5 * days },
    failing: [{ project: branded('prices'), spider: 'otto', failed: 6, runs: 24, reason: 'KeyError: price' }],
    newErrors: {
      count: 1,
      groups: [{ id: branded(7), project: branded('prices'), title: 'KeyError: price', runs: 6 }]
    },
    unusual: [{ project: branded('news'), spider: 'wires', text: 'Items fell by 80 %: 120, usually 610 to 640' }],
    slowest: [{ project: branded('maps'), spider: 'osm_poi', runs: 2, medianMs: 7_200_000, longestMs: 9_000_000 }],
    service: {
      alertsFired: 4,
      nodes: 6,
      nodesDown: ['us-2'],
      queued: 12,
      databaseBytes: 210_000_000,
      logBytes: 3_400_000_000,
      diskFreePercent: 41.5
    },
    isComplete: true
  }
}

function fakeChannels(nowMs: number): AlertChannel[] {
  const common = {
    enabled: true,
    quiet: null,
    digest: null,
    createdAtMs: nowMs - 90 * DAY_MS,
    hasSecret: true,
    messagesPerHour: null,
    waiting: 0,
    dead: 0,
    held: null,
    problem: null,
    projects: []
  }
  return [
    {
      ...common,
      id: PAGER,
      name: 'on-call',
      lastDeliveredAtMs: nowMs - 6 * MINUTE_MS,
      target: { kind: 'pagerduty', url: 'https://events.pagerduty.com/v2/enqueue' }
    },
    {
      ...common,
      id: SLACK,
      name: '#crawl-alerts',
      lastDeliveredAtMs: nowMs - 5 * MINUTE_MS,
      messagesPerHour: 60,
      held: { messages: 12, nextAtMs: nowMs + 14 * MINUTE_MS },
      target: { kind: 'slack' },
      quiet: { zone: 'Europe/Berlin', from: '22:00', until: '07:00', days: [0, 1, 2, 3, 4, 5, 6] }
    },
    {
      ...common,
      id: MAIL,
      name: 'pricing team',
      lastDeliveredAtMs: nowMs - 2 * DAY_MS,
      waiting: 2,
      target: {
        kind: 'email',
        to: ['pricing@example.net', 'oncall@example.net'],
        from: 'scrapdeck@example.net',
        host: 'mail.example.net',
        port: 587,
        security: 'starttls',
        username: 'scrapdeck'
      },
      problem: '535 5.7.8 Authentication credentials invalid'
    },
    {
      ...common,
      id: OLD,
      name: 'old dashboard',
      lastDeliveredAtMs: null,
      enabled: false,
      target: { kind: 'webhook', url: 'https://dash.example.net/alerts' }
    }
  ]
}
