import { ScrapdeckError } from '../../../shared/errors.ts'
import type { ScheduleId, UserId } from '../../../shared/contract/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { NewAuditEntry, NewEvent } from '../records.ts'
import type { Store } from '../store.ts'
import type { Driver } from './database.ts'
import { differencesOf, type Watched } from '../audit/differences.ts'
import { createAccess } from './access.ts'
import { createAlertFacts } from './alert-facts.ts'
import { createAlerts } from './alerts.ts'
import { prepareEntry } from '../audit/chain.ts'
import { createNextEntry } from '../audit/next-entry.ts'
import { createAudit } from './audit.ts'
import { createAnswers } from './remembered-answers.ts'
import { createAttempts } from './attempts.ts'
import { createReadings } from './readings.ts'
import { createBackfills } from './backfills.ts'
import { createChainEnds } from './chain-ends.ts'
import { createChains } from './chains.ts'
import { createChangeLog } from './change-log.ts'
import { createCounters } from './counters.ts'
import { createErrorGroups } from './error-groups.ts'
import { createEnqueue } from './enqueue.ts'
import { createFindings } from './findings.ts'
import { createFleet } from './fleet.ts'
import { createGroupCommit } from './group-commit.ts'
import { createGroups } from './groups.ts'
import { createHolds } from './holds.ts'
import { createJobs } from './jobs.ts'
import { createKeptItems } from './kept-items.ts'
import { createKeptLogs } from './kept-logs.ts'
import { createLimits } from './limits.ts'
import { createLogSums } from './log-sums.ts'
import { Listeners } from './listeners.ts'
import { createOrder } from './order.ts'
import { createOutbox } from './outbox.ts'
import { createPruning } from './pruning.ts'
import { createQueue } from './queue.ts'
import { createRetention } from './retention.ts'
import { toJob } from './rows.ts'
import { sendRows } from '../thread/sent-rows.ts'
import { createSecondFactors } from './second-factors.ts'
import { createSchedules } from './schedules.ts'
import { createSources } from './sources.ts'
import { changedNothing } from '../audit/audited-store.ts'
import type { RowStore } from '../thread/store-messages.ts'
import { createTimeline } from './timeline.ts'
import { createToldProblems } from './told-problems.ts'

/** A commit that takes longer blocks the thread long enough to be logged. */
const SLOW_COMMIT_MS = 250

export interface SqlStoreOptions {
  driver: Driver
  clock: Clock
  logger: Logger
  /** Decides when collected writes are committed together; a simulation passes its own. */
  scheduleFlush?: ((flush: () => void) => void) | undefined
}

/**
 * The Store over a database, in the caller's thread. The parts behind it are synchronous and know neither promises nor
 * queues.
 */
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
  const toldProblems = createToldProblems(database)
  const secondFactors = createSecondFactors(database)
  const access = createAccess(database, secondFactors)
  const groups = createGroups(database)
  const audit = createAudit({ database, outbox })
  const findings = createFindings(database)
  const alerts = createAlerts({ database, outbox })
  const alertFacts = createAlertFacts({ database, outbox })
  const chains = createChains({ database, enqueue, chainEnds })
  const schedules = createSchedules({ database, changes, enqueue, outbox })
  const prune = createPruning({ database, changes, outbox, answers, chainEnds })
  const retention = createRetention({ database, changes, timeline, counters, logSums, clock })
  const changed = new Listeners<number>(logger)
  const queueChanged = new Listeners<string[]>(logger)
  const commits = createGroupCommit({
    ...{ database, clock, record, ask, discard, scheduleFlush },
    ...{ settle: () => driver.settle(), beforeCommit, onRollback: () => audit.rollBack(), onCommit: afterCommit }
  })
  let announced = changes.cursor()
  let closing: Promise<void> | null = null
  const entries = createNextEntry()

  return {
    enqueueJobs: (list) => write(() => enqueue.enqueue(list)),
    recordRuns: (list) => write(() => list.forEach(recordRun)),
    getJob: (id) => read(() => jobs.get(id)),
    getJobs: (ids) => read(() => jobs.getMany(ids).map(toJob)),
    getJobRows: (ids) => read(() => sendRows(jobs.getMany(ids))),
    listJobs: (filter, page) => read(() => jobs.list(filter, page).map(toJob)),
    listJobRows: (filter, page) => read(() => sendRows(jobs.list(filter, page))),
    listLaterOrders: (filter, page) => read(() => jobs.listLater(filter, page).map(toJob)),
    countFacets: (filter) => read(() => jobs.countFacets(filter)),
    countStatuses: (ids) => read(() => jobs.countStatuses(ids)),
    countByState: (of) => read(() => jobs.countByState(of)),
    countEndedSince: (sinceMs, of) => read(() => jobs.countEndedSince(sinceMs, of)),
    findJobsByJobid: (project, jobid) => read(() => jobs.findByJobid(project, jobid)),
    listFinishedRuns: (limit) => read(() => jobs.listFinishedRuns(limit)),
    listSpidersElsewhere: (nodeId) => read(() => jobs.listSpidersElsewhere(nodeId)),
    listTimeline: (jobId) => read(() => timeline.list(jobId)),

    listLanes: () => read(() => queue.listLanes()),
    readHeads: (wanted) => read(() => queue.readHeads(wanted)),
    onQueueChange: (listener) => queueChanged.add(listener),
    releaseDue: (nowMs, limit) => write(() => holds.releaseDue(nowMs, limit)),
    setPriority: (ids, priority, entry) => write(() => order.setPriority(ids, priority, entry)),
    reorder: (ids, to, entry) => write(() => order.reorder(ids, to, entry)),
    placeQueued: (ids, placement, entry) => write(() => order.placeQueued(ids, placement, entry)),
    changeQueued: (job) => write(() => order.changeQueued(job)),
    beginAttempts: (starts) => writeJoined(() => afterAttempts(() => queue.beginAttempts(starts))),
    cancelQueued: (ids, entry) => write(() => queue.cancelQueued(ids, entry)),
    failQueued: (ids, error, sinceMs, entry) => write(() => queue.failQueued(ids, error, sinceMs, entry)),
    restoreCancelled: (ids, entry) => write(() => queue.restoreCancelled(ids, entry)),
    askCancel: (ids, entry) => write(() => queue.askCancel(ids, entry)),

    listLiveAttempts: () => read(() => attempts.listLive()),
    listAttempts: (jobId) => read(() => attempts.list(jobId)),
    findAttemptsOnNode: (nodeId, list) => read(() => attempts.findOnNode(nodeId, list)),
    hasEndedBefore: (nodeId, list, attempt) => read(() => attempts.hasEndedBefore(nodeId, list, attempt)),
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
    findArchivedLog: (jobId, attemptNumber) => read(() => attempts.findArchivedLog(jobId, attemptNumber)),

    recordReadings: (list) =>
      writeJoined(
        () => readings.recordReadings(list),
        () => readings.readAhead(list)
      ),
    findFigures: (jobId, attemptNumber) => read(() => readings.findFigures(jobId, attemptNumber)),

    listErrorGroups: (filter, page) => read(() => errorGroups.page(filter, page)),
    getErrorGroup: (id, sinceMs) => read(() => errorGroups.get(id, sinceMs)),
    projectsOfErrorGroups: (ids) => read(() => errorGroups.projectsOf(ids)),
    listErrorsOfJob: (jobId, attemptNumber, sinceMs) => read(() => errorGroups.ofJob(jobId, attemptNumber, sinceMs)),
    setErrorState: (ids, state, atMs) => write(() => errorGroups.setState(ids, state, atMs)),
    findItems: (jobId, number) => read(() => keptItems.find(jobId, number)),
    recordItems: (record) => write(() => keptItems.record(record)),
    listKeptItems: (after, limit) => read(() => keptItems.list(after, limit)),
    pageKeptLogs: (filter, page) => read(() => keptLogs.page(filter, page)),
    readKeptLogs: (keys) => read(() => keptLogs.read(keys)),
    listUnarchivedRuns: (filter, options) => read(() => keptLogs.listUnarchived(filter, options)),
    listUnindexedLogs: (before, limit) => read(() => keptLogs.listUnindexed(before, limit)),
    listAddedLogs: (sinceId, limit) => read(() => keptLogs.listAdded(sinceId, limit)),
    recordLogBlocks: (list) => write(() => keptLogs.record(list)),
    forgetLogBlocks: (logs) => write(() => keptLogs.forgetMany(logs)),
    endOfLogBlocks: () => read(() => keptLogs.endOfBlocks()),

    listNodes: () => read(() => fleet.listNodes()),
    putNode: (node) => write(() => fleet.putNode(node), { watched: watchNode(node.id) }),
    deleteNode: (id) => write(() => fleet.deleteNode(id), { watched: watchNode(id) }),

    listVersions: () => read(() => fleet.listVersions()),
    putVersion: (version) => write(() => fleet.putVersion(version)),
    deleteVersion: (project, version) => write(() => fleet.deleteVersion(project, version)),
    putDeployment: (project, version, deployment) => write(() => fleet.putDeployment(project, version, deployment)),
    deleteDeployment: (nodeId, project, version) => write(() => fleet.deleteDeployment(nodeId, project, version)),
    changeVersions: (list) => write(() => fleet.changeVersions(list)),
    countJobsNeeding: (project, version) => read(() => jobs.countNeeding(project, version)),

    listProjectSettings: () => read(() => fleet.listProjectSettings()),
    putProjectSettings: (project, settings) =>
      write(() => fleet.putProjectSettings(project, settings), {
        watched: watch('project', [project], () =>
          [...fleet.listProjectSettings()].map(([name, value]) => ({ ...value, id: name, name }))
        )
      }),

    changeCursor: () => read(() => changes.cursor()),
    listChanges: (after, limit) => read(() => changes.list(after, limit)),
    onChange: (listener) => changed.add(listener),

    listSchedules: () => read(() => schedules.list()),
    getSchedules: (ids) => read(() => schedules.getMany(ids)),
    pageSchedules: (filter, page) => read(() => schedules.page(filter, page)),
    putSchedule: (schedule) => write(() => schedules.put(schedule), { watched: watchSchedules([schedule.id]) }),
    deleteSchedules: (ids) => write(() => schedules.remove(ids), { watched: watchSchedules(ids) }),
    fire: (firings) => write(() => schedules.fire(firings)),
    // Nothing to send ahead: the rows are written in this thread.
    prepareFirings: () => undefined,
    setFailuresInARow: (id, failures) => write(() => schedules.setFailures(id, failures)),
    listFirings: (filter, page) => read(() => schedules.listFirings(filter, page)),
    listRecentFirings: (ids, limit) => read(() => schedules.listRecent(ids, limit)),
    findFired: (id, nominalMs) => read(() => schedules.findFired(id, nominalMs)),
    listLiveJobsOf: (scheduleId) => read(() => schedules.listLiveJobs(scheduleId)),

    listBackfills: () => read(() => backfills.list()),
    putBackfill: (backfill) => write(() => backfills.put(backfill)),

    listChains: () => read(() => chains.list()),
    putChain: (chain) => write(() => chains.put(chain), { watched: watchChain(chain.id) }),
    deleteChain: (id) => write(() => chains.remove(id), { watched: watchChain(id) }),
    listDueChains: (limit) => read(() => chains.listDue(limit)),
    answerChains: (answers) => write(() => chains.answer(answers)),

    listWebhooks: () => read(() => outbox.list()),
    putWebhook: (webhook) => write(() => outbox.put(webhook), { watched: watchWebhook(webhook.id) }),
    deleteWebhook: (id) => write(() => outbox.remove(id), { watched: watchWebhook(id) }),
    recordEvents: (events) => write(() => recordEvents(events)),
    listDueDeliveries: (nowMs, limitEach) => read(() => outbox.due(nowMs, limitEach)),
    concludeTries: (tries) => write(() => outbox.conclude(tries)),
    listDeliveries: (webhookId, page) => read(() => outbox.deliveries(webhookId, page)),
    findNewestDelivery: (webhookIds) => read(() => outbox.newestDelivery(webhookIds)),
    listDeliveriesAfter: (webhookIds, after, limit) => read(() => outbox.deliveriesAfter(webhookIds, after, limit)),
    replayDeliveries: (webhookId, ids, nowMs) => write(() => outbox.replay(webhookId, ids, nowMs)),

    claimAnswer: (claim) => write(() => answers.claim(claim)),
    keepAnswer: (scope, key, answer) => write(() => answers.keep(scope, key, answer)),

    listSources: () => read(() => sources.list()),
    putSource: (source) => write(() => sources.put(source), { watched: watchSource(source.settings.id) }),
    deleteSource: (id) => write(() => sources.remove(id), { watched: watchSource(id) }),
    listVanishedNodes: () => read(() => sources.listVanished()),
    putVanishedNodes: (nodes) => write(() => sources.putVanished(nodes)),
    deleteVanishedNodes: (nodeIds) => write(() => sources.removeVanished(nodeIds)),

    getLimits: () => read(() => limits.get()),
    putLimits: (wanted) => write(() => limits.replace(wanted), { watched: watchOne('limits', () => limits.get()) }),

    listSuccessfulRuns: (project, spider, page) => read(() => findings.listSuccessfulRuns(project, spider, page)),
    recordFilledFields: (jobId, filled) => write(() => findings.recordFilledFields(jobId, filled)),
    listFindings: () => read(() => findings.listFindings()),
    putFindings: (one) => write(() => findings.putFindings(one)),
    dismissFindings: (project, spider, jobId) => write(() => findings.dismissFindings(project, spider, jobId)),
    listToldProblems: () => read(() => toldProblems.list()),
    putToldProblems: (problems, events) =>
      write(() => {
        toldProblems.replace(problems)
        recordEvents(events)
      }),

    listUsers: () => read(() => access.listUsers()),
    putUser: (user) => write(() => access.putUser(user), { watched: watchUser(user.id) }),
    deleteUser: (id) =>
      write(
        () => {
          groups.leaveAll(id)
          return access.deleteUser(id)
        },
        { watched: watchUser(id) }
      ),
    listGroups: () => read(() => groups.list()),
    putGroup: (group) => write(() => groups.put(group), { watched: watchGroup(group.id) }),
    deleteGroup: (id) => write(() => groups.remove(id), { watched: watchGroup(id) }),
    listAccessTokens: () => read(() => access.listTokens()),
    addAccessToken: (token) => write(() => access.addToken(token), { watched: watchToken(token.id) }),
    deleteAccessToken: (id) => write(() => access.deleteToken(id), { watched: watchToken(id) }),
    listRoles: () => read(() => access.listRoles()),
    putRole: (role) => write(() => access.putRole(role), { watched: watchRole(role.name) }),
    deleteRole: (name) => write(() => access.deleteRole(name), { watched: watchRole(name) }),
    listAuthenticators: () => read(() => secondFactors.listAuthenticators()),
    putAuthenticator: (one) =>
      write(() => secondFactors.putAuthenticator(one), { watched: watchSecondFactors(one.userId) }),
    putRecoveryCodes: (userId, hashes) =>
      write(() => secondFactors.putRecoveryCodes(userId, hashes), { watched: watchSecondFactors(userId) }),
    deleteAuthenticator: (userId) =>
      write(() => secondFactors.deleteAuthenticator(userId), { watched: watchSecondFactors(userId) }),
    useAuthenticatorStep: (userId, step) => write(() => secondFactors.useStep(userId, step)),
    useRecoveryCode: (userId, hash) => write(() => secondFactors.useRecoveryCode(userId, hash)),
    listPasskeys: () => read(() => secondFactors.listPasskeys()),
    addPasskey: (passkey) =>
      write(() => secondFactors.addPasskey(passkey), { watched: watchSecondFactors(passkey.userId) }),
    usePasskey: (id, signCount, atMs) => write(() => secondFactors.usePasskey(id, signCount, atMs)),
    deletePasskey: (userId, id) =>
      write(() => secondFactors.deletePasskey(userId, id), { watched: watchSecondFactors(userId) }),
    deleteSecondFactors: (userId) =>
      write(() => secondFactors.deleteOf(userId), { watched: watchSecondFactors(userId) }),
    recordAccess: (users, tokens, atMs) => write(() => access.recordUse(users, tokens, atMs)),

    listAlertRules: () => read(() => alerts.listRules()),
    putAlertRule: (rule) => write(() => alerts.putRule(rule), { watched: watchAlertRule(rule.id) }),
    deleteAlertRule: (id) => write(() => alerts.deleteRule(id), { watched: watchAlertRule(id) }),
    listSilences: () => read(() => alerts.listSilences()),
    putSilence: (silence) => write(() => alerts.putSilence(silence), { watched: watchSilence(silence.id) }),
    deleteSilence: (id) => write(() => alerts.deleteSilence(id), { watched: watchSilence(id) }),
    readAlertMemory: (sinceMs) => read(() => alerts.memory(sinceMs)),
    writeAlerts: (changes) => write(() => alerts.write(changes)),
    answerAlerts: (changes) => write(() => alerts.write(changes)),
    getAlerts: (ids) => read(() => alerts.getMany(ids)),
    listAlerts: (filter, page) => read(() => alerts.list(filter, page)),
    sumAlerts: (sinceMs) => read(() => alerts.figures(sinceMs)),
    pruneAlerts: (beforeMs, limit) => write(() => alerts.prune(beforeMs, limit)),
    recordAlertFacts: (facts) => write(() => alertFacts.record(facts)),
    listNewestAlertFacts: () => read(() => alertFacts.newest()),
    listAlertFacts: (watch, page) => read(() => alertFacts.page(watch, page)),
    pruneAlertFacts: (beforeMs, most, limit) => write(() => alertFacts.prune(beforeMs, most, limit)),
    listDigests: () => read(() => alertFacts.digests()),
    tellDigest: (digest, message) => write(() => alertFacts.tell(digest, message)),
    deleteDigests: (channelIds) => write(() => alertFacts.deleteDigests(channelIds)),

    withAudit: entries.withAudit,
    appendAudit: (record) => write(() => audit.append(prepareEntry(record))),
    pageAudit: (filter, page) => read(() => audit.page(filter, page)),
    listAuditAfter: (seq, limit) => read(() => audit.after(seq, limit)),
    auditChain: () => read(() => audit.chain()),
    forgetAudit: (beforeMs, limit) => write(() => audit.forget(beforeMs, limit)),

    prune: (retention, limit) => write(() => prune(retention, limit)),

    applyRetention: (pass, bounds, limit) => write(() => retention.apply(pass, bounds, limit)),
    previewRetention: (pass, bounds, rows) => read(() => retention.preview(pass, bounds, rows)),
    listDeletedLogs: (limit) => read(() => retention.listDeletedLogs(limit)),
    forgetDeletedLogs: (logs) => write(() => retention.forgetDeletedLogs(logs)),
    keepJobs: (ids, isKept, entry) => write(() => retention.keepJobs(ids, isKept, entry)),
    getStoragePolicy: () => read(() => retention.getPolicy()),
    putStoragePolicy: (stored) =>
      write(() => retention.putPolicy(stored), {
        watched: watchOne('storage policy', () => retention.getPolicy())
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

  /** Records a run that began before we knew of it. */
  function recordRun({ job, start, changes: made }: Parameters<Store['recordRuns']>[0][number]): void {
    enqueue.insertUnheld(job)
    if (queue.beginAttempts([start]).length === 0) {
      throw new Error(
        `The run of ${job.id} cannot be recorded: another run of its overlap key is live, or it has expired`
      )
    }
    // An imported history causes no events; a run that is still live does.
    const apply = () => {
      attempts.applyChanges(made)
      attempts.flush()
    }
    if (made.some(({ to }) => to === 'ended')) outbox.silently(apply)
    else apply()
  }

  function recordEvents(events: NewEvent[]): void {
    for (const { event, project, atMs, data } of events) {
      outbox.record(event, project === null ? [] : [project], atMs, () => data)
    }
  }

  async function read<T>(work: () => T | Promise<T>): Promise<T> {
    refuseWhenClosing()
    try {
      const changesBefore = driver.changeCount()
      const result = work()
      // Changes made outside `write` would not be announced until the next write.
      if (driver.changeCount() !== changesBefore) throw new Error('A verb that only reads has written')
      return await result
    } catch (error) {
      // The store may have closed during a longer read.
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

  function watch(noun: string, ids: readonly string[], list: () => ({ id: string; name: string } & object)[]): Watched {
    return {
      noun,
      read: () =>
        list()
          .filter(({ id }) => ids.includes(id))
          .map(({ id, name, ...value }) => ({ id, name, value: { name, ...value } }))
    }
  }

  function watchOne(noun: string, get: () => object | null): Watched {
    return { noun, read: () => [{ id: '', name: noun, value: get() ?? {} }] }
  }

  function watchNode(id: string): Watched {
    return watch('node', [id], () => fleet.listNodes())
  }

  function watchSchedules(ids: ScheduleId[]): Watched {
    return watch('schedule', ids, () => schedules.getMany(ids).map((one) => ({ ...one, name: one.settings.name })))
  }

  function watchChain(id: string): Watched {
    return watch('chain', [id], () => chains.list().map((one) => ({ ...one, name: one.settings.name })))
  }

  function watchWebhook(id: string): Watched {
    return watch('webhook', [id], () => outbox.list())
  }

  function watchAlertRule(id: string): Watched {
    return watch('alert rule', [id], () => alerts.listRules())
  }

  function watchSilence(id: string): Watched {
    return watch('silence', [id], () => alerts.listSilences().map((one) => ({ ...one, name: one.comment })))
  }

  function watchSource(id: string): Watched {
    return watch('source', [id], () =>
      sources.list().map((one) => ({ ...one, id: one.settings.id, name: one.settings.id }))
    )
  }

  function watchUser(id: string): Watched {
    return watch('user', [id], () => {
      const isIn = groups.list().filter(({ members }) => members.some((member) => member === id))
      return access.listUsers().map((user) => ({ ...user, groups: isIn.map(({ name }) => name) }))
    })
  }

  function watchGroup(id: string): Watched {
    return watch('group', [id], () => {
      const names = new Map(access.listUsers().map((user) => [user.id, user.name]))
      return groups
        .list()
        .map((group) => ({ ...group, members: group.members.map((member) => names.get(member) ?? member) }))
    })
  }

  function watchRole(name: string): Watched {
    return watch('role', [name], () => access.listRoles().map((one) => ({ ...one, id: one.name })))
  }

  function watchSecondFactors(userId: UserId): Watched {
    return watch('second factor', [userId], () => secondFactors.factsOf(userId))
  }

  function watchToken(id: string): Watched {
    return watch('token', [id], () => access.listTokens())
  }

  /**
   * For what follows the lives of attempts, by the thousand per second: it keeps nothing in memory, and reads none of
   * the counters.
   */
  function writeJoined<T>(work: () => T, ahead?: () => void): Promise<T> {
    return write(work, { isJoined: true, ahead })
  }

  /** Another verb of the same write may read what they wrote. */
  function afterAttempts<T>(work: () => T): T {
    attempts.flush()
    return work()
  }

  function ask(): void {
    attempts.ask()
    readings.ask()
  }

  /** Writes the counters, events and entries of the change log that writes have collected. */
  function record(): () => void {
    attempts.flush()
    readings.flush()
    chainEnds.flush()
    timeline.flush()
    counters.flush()
    logSums.flush()
    outbox.flush()
    return changes.flush()
  }

  function discard(): void {
    attempts.discard()
    readings.discard()
    chainEnds.discard()
    timeline.discard()
    counters.discard()
    logSums.discard()
    outbox.discard()
    changes.discard()
  }

  function refuseWhenClosing(): void {
    if (closing !== null) throw new ScrapdeckError('STOPPING', 'Scrapdeck is stopping and accepts no more requests.')
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
