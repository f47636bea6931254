import {
  type JobDefaults,
  ProjectSettings,
  type RunTemplate,
  type SealedText,
  type Webhook
} from '../../../shared/contract/index.ts'
import type { AlertCommands } from '../commands/alert-commands.ts'
import type { QueueCommands } from '../commands/queue-commands.ts'
import { openTemplate } from '../commands/template-secrets.ts'
import type { Discovery } from '../../nodes/discovery/discovery.ts'
import { DIRECT } from '../../nodes/scrapyd/proxy.ts'
import type { SecretBox } from '../../runtime/secret-box.ts'
import type { StoredNode, StoredSchedule } from '../../model/records.ts'
import type { ChainStore, NodeStore, ProjectSettingsStore, ScheduleReader } from '../../storage/store.ts'
import type { Retention } from '../../maintenance/retention/retention.ts'
import { type AlertNames, alertOfFile } from './alert-rules.ts'
import { retentionOfFile, ruleOfFile, templateOfFile, textOfMoment } from './form.ts'
import type { CurrentFleet, CurrentItem } from './plan.ts'

export interface FleetReads {
  store: NodeStore & ProjectSettingsStore & ScheduleReader & ChainStore
  hasLocalNode: boolean
  /** Whether there are several engines, each with a local node. */
  hasEngines: boolean
  discovery: Pick<Discovery, 'list'>
  queue: Pick<QueueCommands, 'limits'>
  webhooks: { list(): Promise<Webhook[]> }
  alerts: Pick<AlertCommands, 'rules' | 'channelNames'>
  retention: Pick<Retention, 'policy'>
  secretBox: Pick<SecretBox, 'open'>
}

export async function readAlertNames({ store, alerts }: Pick<FleetReads, 'store' | 'alerts'>): Promise<AlertNames> {
  const [nodes, schedules, channels] = await Promise.all([
    store.listNodes(),
    store.listSchedules(),
    alerts.channelNames()
  ])
  return {
    nodes: new Map(nodes.map(({ id, name }) => [id, name])),
    schedules: new Map(schedules.map(({ id, settings }) => [id, settings.name])),
    channels
  }
}

/** The secrets are decrypted. Never show them unmasked. */
export async function readFleet(parts: FleetReads): Promise<CurrentFleet> {
  const { store, hasLocalNode, hasEngines, secretBox } = parts
  const isThere = ({ kind }: StoredNode) => (kind !== 'local' || hasLocalNode) && (kind !== 'engine' || hasEngines)
  const nodes = (await store.listNodes()).filter(isThere)
  const nameOf = new Map(nodes.map(({ id, name }) => [id, name]))
  const [schedules, chains] = [await store.listSchedules(), await store.listChains()]
  const { policy, revision } = parts.retention.policy()
  const isPolicySet = revision > 0
  const names = await readAlertNames(parts)
  // Sorted by name, so that identical fleets export identical files.
  return {
    nodes: byName(await Promise.all(nodes.map((node) => nodeOf(node, parts.secretBox)))),
    discovery: parts.discovery.list().map(({ id, source, refreshSeconds, node, username, isFromConfiguration }) => ({
      id,
      item: { id, source, refreshSeconds, node, username: username ?? null },
      isOurs: !isFromConfiguration
    })),
    projects: byName(
      await Promise.all(
        [...(await store.listProjectSettings())].map(async ([name, stored]) => {
          // Settings that an earlier Scrapdeck wrote lack newer fields.
          const { pinnedVersion, ...settings } = ProjectSettings.parse(stored)
          const item = { name, ...settings, ...(pinnedVersion != null && { pinnedVersion }) }
          return { id: name, item: { ...item, ...(await openedDefaults(settings)) }, isOurs: true }
        })
      )
    ),
    limits: parts.queue.limits().map(({ id, project, spider, tag, perNode, max }) => ({
      id,
      item: { project, spider, tag, perNode, max },
      isOurs: true
    })),
    schedules: byName(await Promise.all(schedules.map(scheduleOf))),
    chains: byName(
      await Promise.all(
        chains.map(async ({ id, settings }) => ({
          id,
          item: { ...settings, run: await opened(settings.run) },
          isOurs: true
        }))
      )
    ),
    webhooks: byName(
      (await parts.webhooks.list()).map(({ id, name, url, events, project, enabled }) => ({
        id,
        item: { name, url, events, project, enabled },
        isOurs: true
      }))
    ),
    alerts: byName(parts.alerts.rules().map((rule) => ({ id: rule.id, item: alertOfFile(rule, names), isOurs: true }))),
    retention: isPolicySet ? [{ id: 'policy', item: retentionOfFile(policy), isOurs: true }] : []
  }

  async function openedDefaults({ defaults, spiderDefaults }: Pick<ProjectSettings, 'defaults' | 'spiderDefaults'>) {
    const ofSpiders = Object.entries(spiderDefaults).map(async ([name, one]) => [name, await opened(one)] as const)
    return { defaults: await opened(defaults), spiderDefaults: Object.fromEntries(await Promise.all(ofSpiders)) }
  }

  async function opened<T extends RunTemplate | JobDefaults>(template: T) {
    // Secrets encrypted with a different key cannot be read. A file that contains such a secret counts as a change.
    const plain = await openTemplate(template, secretBox).catch(() => template)
    return templateOfFile(plain, (nodeId) => nameOf.get(nodeId) ?? nodeId)
  }

  async function scheduleOf(schedule: StoredSchedule): Promise<CurrentItem<'schedules'>> {
    const { id, settings, paused, pauseNote } = schedule
    const { rules, startMs, endMs, jobs, ...rest } = settings
    const moments = { start: momentOf(startMs), end: momentOf(endMs) }
    const templates = await Promise.all(jobs.map(opened))
    const item = { ...rest, ...moments, rules: rules.map(ruleOfFile), jobs: templates, paused, pauseNote }
    return { id, item, isOurs: true, isPausedByOperator: paused && schedule.pausedBy === 'operator' }
  }
}

function byName<T extends { item: { name: string } }>(items: T[]): T[] {
  const keyOf = ({ item }: T) => `${item.name}\n${JSON.stringify(item)}`
  const keyed = items.map((one) => ({ one, key: keyOf(one) }))
  return keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ one }) => one)
}

const momentOf = (atMs: number | null): string | null => (atMs === null ? null : textOfMoment(atMs))

async function nodeOf(node: StoredNode, secretBox: Pick<SecretBox, 'open'>): Promise<CurrentItem<'nodes'>> {
  const { name, kind, url, username, caCertificate, clientCertificate, slots, tags, queueAhead, group, mode } = node
  const { giveUpAfterSeconds, logsKept, sealedProxyUrl } = node
  const open = async (sealed: SealedText | null) => (sealed === null ? null : secretBox.open(sealed).catch(() => null))
  const proxyUrl = sealedProxyUrl === DIRECT ? DIRECT : await open(sealedProxyUrl)
  const secrets = { password: await open(node.sealedPassword), clientKey: await open(node.sealedClientKey), proxyUrl }
  const settings = { slots, tags, queueAhead, giveUpAfterSeconds, logsKept, group, mode }
  const item = {
    name,
    kind,
    url,
    username,
    caCertificate,
    clientCertificate,
    ...secrets,
    ...settings,
    kubernetes: node.kubernetes
  }
  return { id: node.id, item, isOurs: node.sourceId === null }
}
