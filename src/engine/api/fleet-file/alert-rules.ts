import type {
  AlertChannelId,
  AlertRule,
  AlertRuleSettings,
  NodeId,
  ScheduleId
} from '../../../shared/contract/index.ts'
import { ALERT_WATCHES } from '../../../shared/alert-watches.ts'
import { type FileAlert, PARTS } from './form.ts'

export interface AlertNames {
  nodes: ReadonlyMap<NodeId, string>
  schedules: ReadonlyMap<ScheduleId, string>
  channels: ReadonlyMap<AlertChannelId, string>
}

/** Refers to nodes, schedules and channels by name, or by id if they were removed. */
export function alertOfFile(
  { id: _id, revision: _revision, createdAtMs: _created, nodeId, scheduleId, ...rule }: AlertRule,
  names: AlertNames
): FileAlert {
  const nameIn = <Id extends string>(known: ReadonlyMap<Id, string>, id: Id) => known.get(id) ?? id
  const channelsOf = (ids: readonly AlertChannelId[]) => ids.map((id) => nameIn(names.channels, id))
  const { escalation } = rule
  const item: FileAlert = {
    ...rule,
    // Also accepts a project that was deployed before names were restricted.
    project: rule.project as FileAlert['project'],
    node: nodeId === null ? null : nameIn(names.nodes, nodeId),
    schedule: scheduleId === null ? null : nameIn(names.schedules, scheduleId),
    channels: channelsOf(rule.channels),
    escalation: escalation === null ? null : { ...escalation, channels: channelsOf(escalation.channels) }
  }
  // Identical rules must export identical text.
  const fields = Object.keys(PARTS.alerts.shape) as (keyof FileAlert)[]
  return Object.fromEntries(fields.map((field) => [field, item[field]])) as FileAlert
}

export function withUsual(rule: FileAlert) {
  const { usual, compares } = ALERT_WATCHES[rule.watch]
  const given = Object.fromEntries(Object.entries(rule).filter(([, value]) => value !== undefined)) as FileAlert
  return { comparison: compares[0] as NonNullable<FileAlert['comparison']>, ...usual, ...given } as FileAlert &
    Pick<AlertRuleSettings, 'comparison' | 'threshold' | 'forSeconds' | 'severity'>
}

export function alertFromFile(rule: FileAlert, names: AlertNames): AlertRuleSettings {
  const { node, schedule, channels, escalation, ...rest } = withUsual(rule)
  const idIn = <Id extends string>(known: ReadonlyMap<Id, string>, name: string) =>
    [...known].find(([, one]) => one === name)?.[0] ?? (name as Id)
  const idsOf = (some: readonly string[]) => some.map((name) => idIn(names.channels, name))
  return {
    ...rest,
    nodeId: node === null ? null : idIn(names.nodes, node),
    scheduleId: schedule === null ? null : idIn(names.schedules, schedule),
    channels: idsOf(channels),
    escalation: escalation === null ? null : { ...escalation, channels: idsOf(escalation.channels) }
  }
}

export function missingNames(
  { node, schedule, channels, escalation }: FileAlert,
  known: { nodes: ReadonlySet<string>; schedules: ReadonlySet<string>; channels: ReadonlySet<string> }
): string | null {
  if (node !== null && !known.nodes.has(node))
    return `it is about the node "${node}", which is neither in the file nor in the fleet`
  if (schedule !== null && !known.schedules.has(schedule))
    return `it is about the schedule "${schedule}", which is neither in the file nor here`
  const missing = [...channels, ...(escalation?.channels ?? [])].find((name) => !known.channels.has(name))
  if (missing === undefined) return null
  return `there is no alert channel "${missing}": channels have secrets and are not in the file, so create it first`
}
