import { rankOf } from '../../../shared/alert-watches.ts'
import { type AlertCommands, noAlert } from '../commands/alert-commands.ts'
import type { Alerts } from '../../monitoring/alerts/alerts.ts'
import type { Evidence } from '../../monitoring/alerts/evidence/evidence.ts'
import type { Reports } from '../../monitoring/alerts/report/reports.ts'
import { seenProjects } from '../../access/rights.ts'
import type { AlertId } from '../../../shared/contract/index.ts'
import type { AlertPage, StoredEpisode } from '../../model/records.ts'
import type { AlertStore } from '../../storage/store.ts'
import type { RouterContext } from './router-context.ts'
import type { Handlers } from './required-rights.ts'
import { isSeen, onlySeen, type Seen } from './seen.ts'

/** Only users who see all projects get data without a project, such as an alert about a node. */
export function alertOperations({
  store,
  alerts,
  alertCommands,
  evidence,
  reports
}: {
  store: AlertStore
  alerts: Alerts
  alertCommands: AlertCommands
  evidence: Evidence
  reports: Reports
}): Pick<Handlers, 'alerts' | 'alertRules' | 'alertSilences' | 'alertChannels'> {
  const seenBy = ({ principal }: RouterContext): Seen => seenProjects(principal.rights)
  const isShown =
    (seen: Seen) =>
    ({ project }: { project: string | null }): boolean =>
      seen === null || (project !== null && [...seen].some((one) => one === project))

  return {
    alerts: {
      list: async ({ input: { before, limit, ...filter }, context }) => {
        const page = { before: parseBefore(before), limit: limit + 1 }
        const rows = await store.listAlerts({ ...filter, ...onlySeen(seenBy(context)) }, page)
        const listed = rows.slice(0, limit)
        const nextBefore = rows.length > limit ? cursorAfter(listed.at(-1)!) : null
        return { alerts: listed.map((one) => alerts.describe(one)), nextBefore }
      },
      evidence: async ({ input: { id } }) => {
        const [stored] = await store.getAlerts([id])
        if (stored === undefined) throw noAlert(id)
        return evidence.forAlert(alerts.describe(stored))
      },
      acknowledge: async ({ input }) => ({
        acknowledged: await alertCommands.acknowledge(input.ids)
      }),
      notices: ({ input, context }) => alertCommands.notices(input.after ?? null, isShown(seenBy(context))),
      unacknowledge: async ({ input }) => ({
        unacknowledged: await alertCommands.unacknowledge(input.ids)
      }),
      report: ({ input, context }) => reports.report(input.days, seenBy(context))
    },
    alertRules: {
      list: async ({ context }) => ({
        rules: (await alertCommands.listRules()).filter(isShown(seenBy(context)))
      }),
      preview: ({ input }) => alertCommands.previewRule(input),
      create: async ({ input }) => ({ rule: await alertCommands.createRule(input) }),
      update: async ({ input }) => ({ rule: await alertCommands.updateRule(input) }),
      remove: async ({ input }) => ({
        removed: await alertCommands.removeRule(input.id)
      }),
      removeMany: async ({ input }) => ({
        removed: await alertCommands.removeRules(input.ids)
      })
    },
    alertSilences: {
      list: ({ context }) => ({
        silences: alerts.silences().filter(isShown(seenBy(context)))
      }),
      create: async ({ input }) => ({
        silence: await alertCommands.silence(input)
      }),
      remove: async ({ input }) => ({
        removed: await alertCommands.endSilence(input.id)
      }),
      removeMany: async ({ input }) => ({
        removed: await alertCommands.endSilences(input.ids)
      })
    },
    alertChannels: {
      names: async ({ context }) => ({
        channels: (await alertCommands.listChannels()).flatMap(({ id, name, target: { kind }, projects }) => {
          const seen = projects.filter((project) => isSeen(seenBy(context), project))
          return projects.length > 0 && seen.length === 0 ? [] : [{ id, name, kind, projects: seen }]
        })
      }),
      list: async () => ({ channels: await alertCommands.listChannels() }),
      create: ({ input }) => alertCommands.createChannel(input),
      update: ({ input }) => alertCommands.updateChannel(input),
      remove: async ({ input }) => ({
        removed: await alertCommands.removeChannel(input.id)
      }),
      test: ({ input }) => alertCommands.testChannel(input.id)
    }
  }
}

/** The cursor after an alert: `f2-123-ID` for a firing alert, most severe first, or `123-ID` for a resolved one. */
const cursorAfter = ({ id, severity, firedAtMs, endedAtMs, state }: StoredEpisode): string =>
  state === 'resolved' ? `${endedAtMs}-${id}` : `f${rankOf(severity)}-${firedAtMs}-${id}`

function parseBefore(before: string | undefined): AlertPage['before'] {
  if (before === undefined) return null
  const [id, atMs, rank] = before.split('-').toReversed() as [AlertId, string, string?]
  return rank === undefined
    ? { endedAtMs: Number(atMs), id }
    : { rank: Number(rank.slice(1)), firedAtMs: Number(atMs), id }
}
