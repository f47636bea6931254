import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import type { ScheduleId, UserId } from '../../../shared/contract/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { NewAuditEntry, StoredRole, StoredSource } from '../../model/records.ts'
import type { Store } from '../store.ts'
import type { Driver } from './database.ts'
import { differencesOf, type Watched } from '../audit/differences.ts'
import { createAccess, createGroups } from './access.ts'
import { createAlertFacts } from './alert-facts.ts'
import { createAlerts } from './alerts.ts'
import { prepareEntry } from '../audit/chain.ts'
import { createNextEntry, changedNothing } from '../audit/audited-store.ts'
import { createAudit } from './audit.ts'
import { createAnswers } from './remembered-answers.ts'
import { createAttempts } from './attempts.ts'
import { createReadings } from './readings.ts'
import { createBackfills, createSchedules } from './schedules.ts'
import { createChainEnds } from './chain-ends.ts'
import { createChains } from './chains.ts'
import { createChangeLog } from './change-log.ts'
import { createCounters } from './counters.ts'
import { createErrorGroups } from './error-groups.ts'
import { createEnqueue } from './enqueue.ts'
import { createFindings } from './findings.ts'
import { createFleet, createLimits, createSources } from './fleet.ts'
import { createGroupCommit } from './group-commit.ts'
import { createHolds } from './holds.ts'
import { createJobs } from './jobs.ts'
import { createKeptItems, createKeptLogs, createLogSums } from './kept-logs.ts'
import { Listeners } from './listeners.ts'
import { createOrder } from './order.ts'
import { createOutbox } from './outbox.ts'
import { createPruning } from './pruning.ts'
import { createQueue } from './queue.ts'
import { createRetention } from './retention.ts'
import { toJob } from './rows.ts'
import { sendRows, type RowStore } from '../thread/store-messages.ts'
import { createSecondFactors } from './second-factors.ts'
import { createTimeline } from './timeline.ts'

/** Commits that take longer than this are logged, because they block the thread. */
const SLOW_COMMIT_MS = 250

export interface SqlStoreOptions {
  driver: Driver
  clock: Clock
  logger: Logger
  /** Decides when collected writes are committed together; a simulation passes its own function. */
  scheduleFlush?: ((flush: () => void) => void) | undefined
}

/** The Store over a database, in the caller's thread. Its parts are synchronous. */
export function createSqlStore({ driver, clock, logger, scheduleFlush = setImmediate }: SqlStoreOptions): RowStore {
  const { database } = driver
  const changes = createChangeLog(database)
  const timeline = createTimeline(database)
  const jobs = createJobs(database)
  const counters = createCounters(database, changes)
  const outbox = createOutbox(database)
  const chainEnds = createChainEnds(database)
  const holds = createHolds({ database, changes, timeline, counters, chainEnds, outbox })
  const order = createOrder({ database, changes, timeline, counters, holds })
  const enqueue = createEnqueue({ database, changes, counters, holds, order, outbox })
  const queue = createQueue({ database, changes, timeline, counters, holds, chainEnds })
  const errorGroups = createErrorGroups({ database })
  const readings = createReadings({ database, errorGroups })
  const keptLogs = createKeptLogs(database)
  const keptItems = createKeptItems(database)
  const logSums = createLogSums(database)
  const attempts = createAttempts({
    database,
    changes,
    timeline,
    counters,
    holds,
    chainEnds,
    outbox,
    keptLogs,
    logSums
  })
  const answers = createAnswers(database)
  const fleet = createFleet({ database, changes })
  const backfills = createBackfills(database)
  const sources = createSources(database)
  const limits = createLimits(database)
  const secondFactors = createSecondFactors(database)
  const groups = createGroups(database)
  const access = createAccess({ database, secondFactors, groups })
  const audit = createAudit({ database, outbox })
  const findings = createFindings(database)
  const alerts = createAlerts({ database, outbox })
  const alertFacts = createAlertFacts({ database, outbox })
  const chains = createChains({ database, enqueue, chainEnds })
  const schedules = createSchedules({ database, changes, enqueue, outbox })
  const prune = createPruning({ database, changes, outbox, answers, chainEnds })
  const retention = createRetention({ database, changes, timeline, counters, logSums, clock })
  /**
   * Parts that collect rows during a write. Flushing a part can add rows to later parts, so the change log comes
   * last.
   */
  const collecting = [attempts, readings, chainEnds, timeline, counters, logSums, outbox]
  const changed = new Listeners<number>(logger)
  const queueChanged = new Listeners<string[]>(logger)
  const commits = createGroupCommit({
    database,
    clock,
    record,
    ask,
    discard,
    scheduleFlush,
    settle: () => driver.settle(),
    beforeCommit,
    onRollback: () => audit.rollBack(),
    onCommit: afterCommit
  })
  const nodes = nounOf('node', () => fleet.listNodes())
  const projects = nounOf('project', () =>
    [...fleet.listProjectSettings()].map(([name, value]) => ({ ...value, id: name, name }))
  )
  const scheduled = nounOf('schedule', (ids) => schedules.getSchedules(ids as ScheduleId[]).map(named))
  const chained = nounOf('chain', () => chains.listChains().map(named))
  const webhooks = nounOf('webhook', () => outbox.listWebhooks())
  const rules = nounOf('alert rule', () => alerts.listAlertRules())
  const silences = nounOf('silence', () => alerts.listSilences().map((one) => ({ ...one, name: one.comment })))
  const found = nounOf(
    'source',
    () => sources.listSources().map((one) => ({ ...one, id: one.settings.id, name: one.settings.id })),
    ({ settings }: StoredSource) => settings.id
  )
  const users = nounOf('user', () => {
    const isIn = (id: UserId) => groups.listGroups().filter(({ members }) => members.includes(id))
    return access.listUsers().map((user) => ({ ...user, groups: isIn(user.id).map(({ name }) => name) }))
  })
  const members = nounOf('group', () => {
    const names = new Map(access.listUsers().map((user) => [user.id, user.name]))
    return groups.listGroups().map((group) => ({ ...group, members: group.members.map((id) => names.get(id) ?? id) }))
  })
  const roles = nounOf(
    'role',
    () => access.listRoles().map((one) => ({ ...one, id: one.name })),
    ({ name }: StoredRole) => name
  )
  const factors = nounOf(
    'second factor',
    ([userId]) => secondFactors.factsOf(userId as UserId),
    ({ userId }: { userId: UserId }) => userId
  )
  const tokens = nounOf('token', () => access.listAccessTokens())
  let announced = changes.changeCursor()
  let closing: Promise<void> | null = null
  const entries = createNextEntry()

  return {
    ...writes(enqueue, 'enqueueJobs'),
    recordRuns: (list) => write(() => list.forEach(recordRun)),
    ...reads(jobs, 'getJob', 'countFacets', 'countStatuses', 'countByState', 'countEndedSince', 'findJobsByJobid'),
    ...reads(jobs, 'listFinishedRuns', 'listSpidersElsewhere', 'countJobsNeeding'),
    getJobs: (ids) => read(() => jobs.getMany(ids).map(toJob)),
    getJobRows: (ids) => read(() => sendRows(jobs.getMany(ids))),
    listJobs: (filter, page) => read(() => jobs.list(filter, page).map(toJob)),
    listJobRows: (filter, page) => read(() => sendRows(jobs.list(filter, page))),
    listLaterOrders: (filter, page) => read(() => jobs.listLater(filter, page).map(toJob)),
    ...reads(timeline, 'listTimeline'),

    ...reads(queue, 'listLanes', 'readHeads'),
    onQueueChange: (listener) => queueChanged.add(listener),
    ...writes(holds, 'releaseDue'),
    ...writes(order, 'setPriority', 'reorder', 'placeQueued', 'changeQueued'),
    beginAttempts: (starts) => writeJoined(() => afterAttempts(() => queue.beginAttempts(starts))),
    ...writes(queue, 'cancelQueued', 'failQueued', 'restoreCancelled', 'askCancel'),

    ...reads(attempts, 'listLiveAttempts', 'listAttempts', 'findAttemptsOnNode', 'hasEndedBefore', 'findArchivedLog'),
    applyChanges: (list) =>
      writeJoined(
        () => attempts.applyChanges(list),
        () => attempts.readAhead(list)
      ),
    markLogArchived: (jobId, attemptNumber, log) =>
      writeJoined(
        () => attempts.markLogArchived(jobId, attemptNumber, log),
        () => attempts.readLogAhead(jobId)
      ),

    recordReadings: (list) =>
      writeJoined(
        () => readings.recordReadings(list),
        () => readings.readAhead(list)
      ),
    ...reads(readings, 'findFigures'),

    ...reads(errorGroups, 'listErrorGroups', 'getErrorGroup', 'projectsOfErrorGroups', 'listErrorsOfJob'),
    ...writes(errorGroups, 'setErrorState'),
    ...reads(keptItems, 'findItems', 'listKeptItems'),
    ...writes(keptItems, 'recordItems'),
    ...reads(keptLogs, 'pageKeptLogs', 'readKeptLogs', 'listUnarchivedRuns', 'listUnindexedLogs', 'listAddedLogs'),
    ...reads(keptLogs, 'endOfLogBlocks'),
    ...writes(keptLogs, 'recordLogBlocks', 'forgetLogBlocks'),

    ...reads(fleet, 'listNodes', 'listVersions', 'listProjectSettings'),
    ...changing(nodes, fleet, 'putNode', 'deleteNode'),
    ...writes(fleet, 'putVersion', 'deleteVersion', 'putDeployment', 'deleteDeployment', 'changeVersions'),

    ...changing(projects, fleet, 'putProjectSettings'),

    ...reads(changes, 'changeCursor', 'listChanges'),
    onChange: (listener) => changed.add(listener),

    ...reads(schedules, 'listSchedules', 'getSchedules', 'pageSchedules', 'listFirings', 'listRecentFirings'),
    ...reads(schedules, 'findFired', 'listLiveJobsOf'),
    ...changing(scheduled, schedules, 'putSchedule', 'deleteSchedules'),
    ...writes(schedules, 'fire', 'setFailuresInARow'),
    ...reads(backfills, 'listBackfills'),
    ...writes(backfills, 'putBackfill'),

    ...reads(chains, 'listChains', 'listDueChains'),
    ...changing(chained, chains, 'putChain', 'deleteChain'),
    ...writes(chains, 'answerChains'),

    ...reads(outbox, 'listWebhooks', 'listDueDeliveries', 'listDeliveries', 'findNewestDelivery'),
    ...reads(outbox, 'listDeliveriesAfter'),
    ...changing(webhooks, outbox, 'putWebhook', 'deleteWebhook'),
    ...writes(outbox, 'recordEvents', 'concludeTries', 'replayDeliveries'),

    ...writes(answers, 'claimAnswer', 'keepAnswer'),

    ...reads(sources, 'listSources', 'listVanishedNodes'),
    ...changing(found, sources, 'putSource', 'deleteSource'),
    ...writes(sources, 'putVanishedNodes', 'deleteVanishedNodes'),

    ...reads(limits, 'getLimits'),
    putLimits: (wanted) => write(() => limits.putLimits(wanted), { watched: watchOne('limits', limits.getLimits) }),

    ...reads(findings, 'listSuccessfulRuns', 'listFindings'),
    ...writes(findings, 'recordFilledFields', 'putFindings', 'dismissFindings'),

    ...reads(access, 'listUsers', 'listAccessTokens', 'listRoles'),
    ...changing(users, access, 'putUser', 'deleteUser'),
    ...reads(groups, 'listGroups'),
    ...changing(members, groups, 'putGroup', 'deleteGroup'),
    ...changing(tokens, access, 'addAccessToken', 'deleteAccessToken'),
    ...changing(roles, access, 'putRole', 'deleteRole'),
    ...reads(secondFactors, 'listAuthenticators', 'listPasskeys'),
    ...changing(factors, secondFactors, 'putAuthenticator', 'putRecoveryCodes', 'deleteAuthenticator'),
    ...changing(factors, secondFactors, 'addPasskey', 'deletePasskey', 'deleteSecondFactors'),
    ...writes(secondFactors, 'useAuthenticatorStep', 'useRecoveryCode', 'usePasskey'),
    ...writes(access, 'recordAccess'),

    ...reads(alerts, 'listAlertRules', 'listSilences', 'readAlertMemory', 'getAlerts', 'listAlerts', 'sumAlerts'),
    ...changing(rules, alerts, 'putAlertRule', 'deleteAlertRule'),
    ...changing(silences, alerts, 'putSilence', 'deleteSilence'),
    ...writes(alerts, 'writeAlerts', 'answerAlerts', 'pruneAlerts'),
    ...writes(alertFacts, 'recordAlertFacts', 'pruneAlertFacts', 'sendDigest', 'deleteDigests'),
    ...reads(alertFacts, 'listNewestAlertFacts', 'listAlertFacts', 'listDigests'),

    withAudit: entries.withAudit,
    appendAudit: (record) => write(() => audit.append(prepareEntry(record))),
    ...reads(audit, 'pageAudit', 'auditChain', 'listAuditAfter'),
    ...writes(audit, 'forgetAudit'),

    prune: (retention, limit) => write(() => prune(retention, limit)),

    ...writes(retention, 'applyRetention', 'forgetDeletedLogs', 'keepJobs'),
    ...reads(retention, 'previewRetention', 'listDeletedLogs', 'getStoragePolicy'),
    putStoragePolicy: (stored) =>
      write(() => retention.putStoragePolicy(stored), {
        watched: watchOne('storage policy', retention.getStoragePolicy)
      }),
    storageSums: () => read(() => ({ ...retention.sums(), database: driver.size() })),
    shrink: (pages) => write(() => driver.shrink(pages)),
    async compact() {
      await commits.drain()
      await read(() => driver.compact())
    },

    getSetting: (key) => read(() => fleet.getSetting(key)),
    putSetting: (key, value) =>
      write(() => fleet.putSetting(key, value), {
        watched: watchOne('setting', () => ({ [key]: fleet.getSetting(key) }))
      }),
    keepSetting: (key, value) => write(() => fleet.keepSetting(key, value)),

    close() {
      closing ??= commits.drain().then(() => {
        changed.clear()
        queueChanged.clear()
        driver.close()
      })
      return closing
    }
  }

  function recordRun({ job, start, changes: made }: Parameters<Store['recordRuns']>[0][number]): void {
    enqueue.insertUnheld(job)
    if (queue.beginAttempts([start]).length === 0) {
      throw new Error(
        `The run of ${job.id} cannot be recorded: another run of its overlap key is live, or it has expired`
      )
    }
    // Imported history records no events, but a run that is still live does.
    const apply = () => {
      attempts.applyChanges(made)
      attempts.flush()
    }
    if (made.some(({ to }) => to === 'ended')) outbox.silently(apply)
    else apply()
  }

  async function read<T>(work: () => T | Promise<T>): Promise<T> {
    refuseWhenClosing()
    try {
      const changesBefore = driver.changeCount()
      const result = work()
      // Changes outside `write` would be announced only with the next write.
      if (driver.changeCount() !== changesBefore) throw new Error('A verb that only reads has written')
      return await result
    } catch (error) {
      // The store may have been closed during a long read.
      refuseWhenClosing()
      throw driver.explain(error)
    }
  }

  async function write<T>(
    work: () => T,
    { watched, ...options }: Parameters<typeof commits.write>[1] & { watched?: Watched } = {}
  ): Promise<T> {
    refuseWhenClosing()
    const entry = entries.take()
    try {
      return await commits.write(entry === null ? work : () => recorded(entry, work, watched), options)
    } catch (error) {
      throw driver.explain(error)
    }
  }

  function recorded<T>(entry: NewAuditEntry, work: () => T, watched: Watched | undefined): T {
    const before = watched?.read() ?? []
    const result = work()
    if (!changedNothing(result))
      audit.append(entry, watched === undefined ? [] : differencesOf(watched.noun, before, watched.read()))
    return result
  }

  function reads<Part, Name extends keyof Part>(part: Part, ...names: Name[]) {
    return verbsOf(part, names, (work) => read(work))
  }

  /** Wraps writes of a part. The audit log does not record the fields that they change. */
  function writes<Part, Name extends keyof Part>(part: Part, ...names: Name[]) {
    return verbsOf(part, names, (work) => write(work))
  }

  /** Wraps writes that change things of one noun. Their first argument is a thing, an id or a list of ids. */
  function changing<Part, Name extends keyof Part>(noun: Noun, part: Part, ...names: Name[]) {
    return verbsOf(part, names, (work, [first]) => write(work, { watched: watch(noun, first) }))
  }

  function watch({ noun, list, idOf }: Noun, first: unknown): Watched {
    const ids = Array.isArray(first) ? first : [typeof first === 'string' ? first : idOf(first)]
    return {
      noun,
      read: () =>
        list(ids)
          .filter(({ id }) => ids.includes(id))
          .map(({ id, name, ...value }) => ({ id, name, value: { name, ...value } }))
    }
  }

  function watchOne(noun: string, get: () => object | null): Watched {
    return { noun, read: () => [{ id: '', name: noun, value: get() ?? {} }] }
  }

  /** For writes about attempts, thousands per second. They change nothing in memory and read no counters. */
  function writeJoined<T>(work: () => T, ahead?: () => void): Promise<T> {
    return write(work, { isJoined: true, ahead })
  }

  /** Writes pending attempt changes first, because `work` can read them in the same write. */
  function afterAttempts<T>(work: () => T): T {
    attempts.flush()
    return work()
  }

  function ask(): void {
    attempts.ask()
    readings.ask()
  }

  function record(): () => void {
    for (const part of collecting) part.flush()
    return changes.flush()
  }

  function discard(): void {
    for (const part of [...collecting, changes]) part.discard()
  }

  function refuseWhenClosing(): void {
    if (closing !== null) throw new ScrapdeckError('STOPPING', sentence('storage.store_stopping'))
  }

  function beforeCommit(): void {
    audit.recordNewest()
    changes.askCursor()
  }

  function afterCommit(commit: { writes: number; tookMs: number }): void {
    if (commit.tookMs > SLOW_COMMIT_MS) logger.warn({ database: database.name, ...commit }, 'A database write was slow')
    driver.committed()
    const lanes = changes.drainLanes()
    if (lanes.length > 0) queueChanged.notify(lanes)
    const cursor = changes.cursorAsked()
    if (cursor === announced) return
    announced = cursor
    changed.notify(cursor)
  }
}

interface Noun {
  noun: string
  list(ids: readonly string[]): ({ id: string; name: string } & object)[]
  idOf(thing: unknown): string
}

function nounOf<Thing = { id: string }>(
  noun: string,
  list: Noun['list'],
  idOf: (thing: Thing) => string = (thing) => (thing as { id: string }).id
): Noun {
  return { noun, list, idOf: idOf as Noun['idOf'] }
}

const named = <Thing extends { settings: { name: string }; id: string }>(one: Thing) => ({
  ...one,
  name: one.settings.name
})

type Verbs<Part, Name extends keyof Part> = {
  [Each in Name]: Part[Each] extends (...args: infer Args) => infer Result ? (...args: Args) => Promise<Result> : never
}

function verbsOf<Part, Name extends keyof Part>(
  part: Part,
  names: Name[],
  run: (work: () => unknown, args: unknown[]) => Promise<unknown>
): Verbs<Part, Name> {
  const methods = part as Record<Name, (...args: unknown[]) => unknown>
  return Object.fromEntries(
    names.map((name) => [name, (...args: unknown[]) => run(() => methods[name](...args), args)])
  ) as Verbs<Part, Name>
}
