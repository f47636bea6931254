import { isDeepStrictEqual } from 'node:util'
import { DEFAULT_PROJECT_SETTINGS, type NodeId } from '../../../shared/contract/index.ts'
import { mapDefaults } from '../../../shared/job-defaults.ts'
import type { AlertCommands } from '../commands/alert-commands.ts'
import type { ChainCommands } from '../commands/chain-commands.ts'
import type { NodeCommands } from '../commands/node-commands.ts'
import type { ProjectCommands } from '../commands/project-commands.ts'
import type { QueueCommands } from '../commands/queue-commands.ts'
import type { ScheduleCommands } from '../commands/schedule-commands.ts'
import type { WebhookCommands } from '../commands/webhook-commands.ts'
import { idOfPulling } from '../../nodes/pulling/node-token.ts'
import type { Discovery } from '../../nodes/discovery/discovery.ts'
import type { Catalog } from '../../projects/catalog.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Random } from '../../runtime/random.ts'
import type { Retention } from '../../maintenance/retention/retention.ts'
import { alertFromFile } from './alert-rules.ts'
import { type Part, policyOfFile, settingsFromFile, templateFromFile } from './form.ts'
import type { Step } from './plan.ts'
import { type FleetReads, readAlertNames } from './read-fleet.ts'

export interface FleetFileParts extends FleetReads {
  nodes: Pick<NodeCommands, 'add' | 'addPulling' | 'update' | 'setMode' | 'remove' | 'checkRemoval'>
  discovery: Pick<Discovery, 'list' | 'put' | 'remove'>
  projects: Pick<ProjectCommands, 'configure' | 'check'>
  queue: Pick<QueueCommands, 'limits' | 'setLimits'>
  schedules: Pick<ScheduleCommands, 'create' | 'update' | 'remove' | 'setPaused'>
  chains: Pick<ChainCommands, 'create' | 'update' | 'remove'>
  webhooks: Pick<WebhookCommands, 'list' | 'create' | 'update' | 'remove' | 'check'>
  alerts: Pick<AlertCommands, 'rules' | 'channelNames' | 'createRule' | 'updateRule' | 'removeRule' | 'checkFigures'>
  retention: Pick<Retention, 'policy' | 'setPolicy' | 'preview'>
  deployed: Pick<Catalog, 'names' | 'allSpidersOf' | 'find'>
  random: Random
  clock: Clock
}

type Apply<P extends Part> = (step: Pick<Step<P>, 'id' | 'item' | 'before'>, parts: FleetFileParts) => Promise<unknown>

export async function applyStep({ part, id, item, before }: Step, parts: FleetFileParts): Promise<void> {
  await (APPLY[part] as Apply<Part>)({ id, item, before }, parts)
}

const APPLY = {
  async nodes({ id, item, before }, { nodes }) {
    if (item === null) return nodes.remove(id!, { force: false })
    const { kind, mode, ...wanted } = item
    if (id === null) {
      // The token is discarded. An operator renews it to set up the node.
      const added =
        kind === 'pulling'
          ? (await nodes.addPulling({ ...wanted, id: idOfPulling(wanted.url)! })).node
          : await nodes.add({ ...wanted, scrapydVersion: null })
      // The add command appends a number to a name that is taken, but the node must keep the name in the file.
      if (added.stored.name !== item.name) await nodes.update(added.stored.id, { name: item.name })
      return mode === 'active' ? added : nodes.setMode(added.stored.id, mode)
    }
    const { kind: _kind, mode: modeBefore, ...was } = before!
    // Updates only changed fields, because an update can replace the connection.
    const changed = Object.fromEntries(
      Object.entries(wanted).filter(
        ([name, value]) => value !== undefined && !isDeepStrictEqual(value, was[name as keyof typeof was] ?? null)
      )
    )
    if (kind !== 'scrapyd') delete changed['url']
    if (Object.keys(changed).length > 0) await nodes.update(id, changed)
    if (mode !== modeBefore) await nodes.setMode(id, mode)
  },

  async discovery({ id, item }, { discovery }) {
    if (item === null) return discovery.remove(id!)
    const { password, ...settings } = item
    return discovery.put(settings, password)
  },

  async projects({ id, item }, parts) {
    const { projects } = parts
    if (item === null) return projects.configure(id!, DEFAULT_PROJECT_SETTINGS)
    const { name, ...settings } = item
    const idOf = await idsOfNodes(parts)
    return projects.configure(name, { ...settings, ...mapDefaults(settings, (one) => templateFromFile(one, idOf)) })
  },

  async limits({ id, item }, { queue, random }) {
    const rules = queue.limits().map(({ live: _live, ...rule }) => rule)
    if (item === null) return queue.setLimits(rules.filter((rule) => rule.id !== id))
    const rule = { ...item, id: id ?? random.hex(6) }
    return queue.setLimits(id === null ? [...rules, rule] : rules.map((one) => (one.id === id ? rule : one)))
  },

  async schedules({ id, item, before }, parts) {
    const { schedules } = parts
    if (item === null) return schedules.remove([id!])
    const settings = settingsFromFile(item, await idsOfNodes(parts))
    const isSame = before !== null && isDeepStrictEqual(settings, settingsFromFile(before, await idsOfNodes(parts)))
    const scheduleId = id ?? (await schedules.create(settings, { namesake: 'allow' })).id
    if (id !== null && !isSame) await schedules.update(id, settings)
    const wasPaused = before?.paused ?? false
    const isPaused = item.paused ?? wasPaused
    const hasOtherNote = isPaused && item.pauseNote !== undefined && item.pauseNote !== (before?.pauseNote ?? null)
    if (isPaused !== wasPaused || hasOtherNote)
      await schedules.setPaused([scheduleId], isPaused, item.pauseNote ?? null)
  },

  async chains({ id, item }, parts) {
    const { chains } = parts
    if (item === null) return chains.remove(id!)
    const settings = { ...item, run: templateFromFile(item.run, await idsOfNodes(parts)) }
    return id === null ? chains.create(settings) : chains.update(id, settings)
  },

  async webhooks({ id, item }, { webhooks }) {
    if (item === null) return webhooks.remove(id!)
    return id === null ? webhooks.create(item) : webhooks.update({ ...item, id })
  },

  async alerts({ id, item }, parts) {
    const { alerts } = parts
    if (item === null) return alerts.removeRule(id!)
    const settings = alertFromFile(item, await readAlertNames(parts))
    const revision = alerts.rules().find((rule) => rule.id === id)?.revision
    // A rule that was removed after planning is created again.
    return revision === undefined ? alerts.createRule(settings) : alerts.updateRule({ ...settings, id: id!, revision })
  },

  async retention({ item }, { retention }) {
    if (item === null) return
    const { revision } = retention.policy()
    return retention.setPolicy({ revision, policy: policyOfFile(item) })
  }
} satisfies { [P in Part]: Apply<P> }

/** Reads the store again, because applying the file may have added nodes. */
async function idsOfNodes({ store }: FleetFileParts): Promise<(name: string) => NodeId> {
  const ids = new Map((await store.listNodes()).map(({ id, name }) => [name, id]))
  return (name) => ids.get(name) ?? (name as NodeId)
}
