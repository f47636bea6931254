import { ALERT_SEVERITIES, rankOf } from '../../../shared/alert-watches.ts'
import type {
  AlertId,
  AlertRule,
  AlertRuleId,
  AlertRuleSettings,
  AlertSilence,
  AlertSilenceId
} from '../../../shared/contract/index.ts'
import { MAX_MESSAGES_PER_HOUR } from '../../../shared/contract/fixed-values.ts'
import type {
  AlertFilter,
  AlertMemory,
  AlertPage,
  AlertRuleFigures,
  AlertWrite,
  StoredAlertGroup,
  StoredEpisode
} from '../../model/records.ts'
import type { Database } from './database.ts'
import { among, type Fragments } from './fragments.ts'
import type { Outbox } from './outbox.ts'
import { requireNextRevision, createTable, replaceRow } from './table.ts'

const ofProjects = (sql: Fragments) => `(CAST(:projects AS TEXT) IS NULL OR project ${among(sql, ':projects')})`

/** Only the first condition can use an index; the second condition breaks ties. */
const AFTER = 'ended_at_ms <= :beforeMs AND (ended_at_ms < :beforeMs OR id > :beforeId)'

/** Firing alerts are few, so all of them are listed, most severe first. Ended alerts follow, by end time. */
export const alertsSql = (sql: Fragments) => ({
  unsettled: 'SELECT episode FROM alerts WHERE settled = 0 ORDER BY id',
  endedSince: 'SELECT episode FROM alerts WHERE ended_at_ms > ? AND settled = 1 ORDER BY ended_at_ms, id',
  firing: `SELECT episode FROM alerts WHERE settled = 0 AND state IN ('firing', 'calming')
    AND (CAST(:ruleId AS TEXT) IS NULL OR rule_id = :ruleId) AND ${ofProjects(sql)}
    AND severity <= :rank AND (severity < :rank OR fired_at_ms < :beforeMs OR (fired_at_ms = :beforeMs AND id > :beforeId))
    ORDER BY severity DESC, fired_at_ms DESC, id LIMIT :limit`,
  ended: `SELECT episode FROM alerts WHERE state = 'resolved' AND ${AFTER} AND ${ofProjects(sql)}
    ORDER BY ended_at_ms DESC, id LIMIT :limit`,
  endedOfRule: `SELECT episode FROM alerts WHERE rule_id = :ruleId AND state = 'resolved' AND ${AFTER}
    AND ${ofProjects(sql)} ORDER BY ended_at_ms DESC, id LIMIT :limit`,
  // In a single step, SQLite would scan all past alerts of every rule.
  figures: `WITH lately AS MATERIALIZED (SELECT rule_id, acknowledged, fired_at_ms FROM alerts WHERE fired_at_ms > ?)
    SELECT rule_id AS "ruleId", count(*) AS fired, sum(acknowledged) AS "actedOn", max(fired_at_ms) AS "lastFiredAtMs"
    FROM lately GROUP BY rule_id`,
  prune: `DELETE FROM alerts WHERE id
    ${sql.oneOf('SELECT id FROM alerts WHERE settled = 1 AND ended_at_ms < ? ORDER BY ended_at_ms LIMIT ?')}`
})

const EVENT = 'alert'
const RANKS = ALERT_SEVERITIES.length

interface RuleRow extends Pick<AlertRule, 'id' | 'revision' | 'createdAtMs'> {
  settings: AlertRuleSettings
}

interface Listing {
  ruleId: AlertRuleId | null
  projects: string | null
  beforeMs: number
  beforeId: string
  limit: number
}

/**
 * Returns a time after the end of the silence, with a day to spare for daylight saving time. MAX_SAFE_INTEGER: the
 * silence never ends.
 */
function overMs({ fromMs, untilMs, repeats }: AlertSilence): number {
  if (repeats === null) return untilMs
  return repeats.endsMs === null ? Number.MAX_SAFE_INTEGER : repeats.endsMs + (untilMs - fromMs) + 86_400_000
}

export function createAlerts({ database, outbox }: { database: Database; outbox: Outbox }) {
  const rules = createTable<RuleRow>(database, {
    name: 'alert_rules',
    order: 'created_at_ms, id',
    fields: 'id settings:json revision createdAtMs'
  })
  const revisionOf = database.prepare<[string], number>('SELECT revision FROM alert_rules WHERE id = ?').pluck()
  const silences = createTable<{ id: AlertSilenceId; silence: AlertSilence; untilMs: number }>(database, {
    name: 'alert_silences',
    order: 'until_ms, id',
    fields: 'id silence:json untilMs'
  })
  const forgetSilences = database.prepare<[number]>('DELETE FROM alert_silences WHERE until_ms < ?')
  const statements = alertsSql(database.fragments)
  const unsettled = database.prepare<[], string>(statements.unsettled).pluck()
  const endedSince = database.prepare<[number], string>(statements.endedSince).pluck()
  const groups = createTable<{ id: string; group: StoredAlertGroup }>(database, {
    name: 'alert_groups',
    order: 'id',
    columns: { group: 'alert_group' },
    fields: 'id group:json'
  })
  const put = database.prepare<Record<string, string | number | null>>(
    replaceRow('alerts', ['id'], {
      id: ':id',
      rule_id: ':ruleId',
      project: ':project',
      state: ':state',
      settled: ':settled',
      severity: ':severity',
      fired_at_ms: ':firedAtMs',
      ended_at_ms: ':endedAtMs',
      acknowledged: ':acknowledged',
      episode: ':episode'
    })
  )
  const forget = database.prepare<[string]>('DELETE FROM alerts WHERE id = ?')
  const get = database.prepare<[string], string>('SELECT episode FROM alerts WHERE id = ?').pluck()
  const firing = database.prepare<Listing & { rank: number }, string>(statements.firing).pluck()
  const ended = database.prepare<Omit<Listing, 'ruleId'>, string>(statements.ended).pluck()
  const endedOfRule = database.prepare<Listing, string>(statements.endedOfRule).pluck()
  const figures = database.prepare<[number], AlertRuleFigures>(statements.figures)
  const prune = database.prepare<[number, number]>(statements.prune)

  function write({ episodes, forgotten, groups: changed, endedGroups, messages }: AlertWrite): void {
    for (const one of episodes) {
      const isSettled = one.state === 'resolved' && Object.keys(one.channels).length === 0
      put.run({
        id: one.id,
        ruleId: one.ruleId,
        project: one.labels.project,
        state: one.state,
        severity: rankOf(one.severity),
        settled: isSettled ? 1 : 0,
        firedAtMs: one.firedAtMs,
        endedAtMs: one.endedAtMs,
        acknowledged: one.acknowledged === null ? 0 : 1,
        episode: JSON.stringify(one)
      })
    }
    for (const id of forgotten) forget.run(id)
    for (const group of changed) groups.put({ id: group.id, group })
    endedGroups.forEach(groups.remove)
    for (const { channelId, atMs, data } of messages) outbox.tell(channelId, EVENT, atMs, data)
  }

  return {
    writeAlerts: write,
    /** Separate from writeAlerts, so that the audit log records only this call, which a user requests. */
    answerAlerts: write,

    listAlertRules: (): AlertRule[] => rules.all().map(({ settings, ...row }) => ({ ...settings, ...row })),

    putAlertRule({ id, revision, createdAtMs, ...settings }: AlertRule): void {
      requireNextRevision(revision, revisionOf.get(id), 'alert rule')
      rules.put({ id, settings, revision, createdAtMs })
    },

    deleteAlertRule: (id: AlertRuleId): boolean => rules.remove(id),

    /** Silences stored by older versions lack `repeats`. */
    listSilences: (): AlertSilence[] =>
      silences.all().map(({ silence }) => ({ ...silence, repeats: silence.repeats ?? null })),
    putSilence: (silence: AlertSilence): void => silences.put({ id: silence.id, silence, untilMs: overMs(silence) }),
    deleteSilence: (id: AlertSilenceId): boolean => silences.remove(id),

    readAlertMemory: (sinceMs: number): AlertMemory => ({
      episodes: [...unsettled.all(), ...endedSince.all(sinceMs)].map((text) => JSON.parse(text) as StoredEpisode),
      groups: groups.all().map(({ group }) => group),
      sent: outbox.sentTimes(EVENT, sinceMs, 2 * MAX_MESSAGES_PER_HOUR).map(({ id, atMs }) => ({ channelId: id, atMs }))
    }),

    getAlerts: (ids: readonly AlertId[]): StoredEpisode[] =>
      ids.flatMap((id) => {
        const text = get.get(id)
        return text === undefined ? [] : [JSON.parse(text) as StoredEpisode]
      }),

    listAlerts({ state, ruleId, onlyProjects }: AlertFilter, { before, limit }: AlertPage): StoredEpisode[] {
      const projects = onlyProjects === undefined ? null : JSON.stringify(onlyProjects)
      const page = { projects, limit, beforeMs: Number.MAX_SAFE_INTEGER, beforeId: '' }
      const isEnded = before !== null && 'endedAtMs' in before
      const found: string[] = []
      if (state !== 'resolved' && !isEnded) {
        const after = before !== null && { rank: before.rank, beforeMs: before.firedAtMs, beforeId: before.id }
        found.push(...firing.all({ ...page, ruleId: ruleId ?? null, rank: RANKS, ...after }))
      }
      if (state !== 'firing') {
        const past = { ...page, ...(isEnded && { beforeMs: before.endedAtMs, beforeId: before.id }) }
        found.push(...(ruleId === undefined ? ended.all(past) : endedOfRule.all({ ...past, ruleId })))
      }
      return found.slice(0, limit).map((text) => JSON.parse(text) as StoredEpisode)
    },

    sumAlerts: (sinceMs: number): AlertRuleFigures[] => figures.all(sinceMs),

    pruneAlerts(beforeMs: number, limit: number): number {
      forgetSilences.run(beforeMs)
      return prune.run(beforeMs, limit).changes
    }
  }
}
