import type { AlertLabels, AlertRule, AlertScope } from '../../../shared/contract/index.ts'
import type { AlertWatch } from '../../../shared/alert-watches.ts'
import { encode, say } from '../../../shared/texts/message.ts'

export interface Signal {
  watch: AlertWatch
  key: string
  /** A number in the watch's unit. For a yes-or-no watch, 1 or 0. */
  value: number
  /** When the value started to apply. For a figure, when it was measured. */
  sinceMs: number
  /** An encoded message (shared/texts). Both `subject` and `text` are stored in this form. */
  subject: string
  /** A sentence for the recipient, without its full stop. */
  text: string
  labels: AlertLabels
}

export const spiderSubject = (of: { project: string; spider: string }): string =>
  encode(say('alert_subject.spider', of))

export const NO_LABELS: AlertLabels = {
  project: null,
  spider: null,
  jobId: null,
  scheduleId: null,
  errorGroupId: null,
  nodeId: null,
  nodeTags: []
}

export const areSameLabels = (one: AlertLabels, other: AlertLabels): boolean =>
  one.project === other.project &&
  one.spider === other.spider &&
  one.jobId === other.jobId &&
  one.scheduleId === other.scheduleId &&
  one.errorGroupId === other.errorGroupId &&
  one.nodeId === other.nodeId &&
  one.nodeTags.length === other.nodeTags.length &&
  one.nodeTags.every((tag, at) => tag === other.nodeTags[at])

export function isInScope(scope: AlertScope, labels: AlertLabels): boolean {
  return (
    (scope.project === null || scope.project === labels.project) &&
    (scope.spider === null || scope.spider === labels.spider) &&
    (scope.scheduleId === null || scope.scheduleId === labels.scheduleId) &&
    (scope.nodeId === null || scope.nodeId === labels.nodeId) &&
    (scope.nodeTag === null || labels.nodeTags.includes(scope.nodeTag))
  )
}

/**
 * Finds the rules that can apply to a signal. Each rule is indexed by the narrowest thing that it names, so that only a
 * few of thousands of rules are checked.
 */
export class RuleIndex {
  readonly #places = new Map<string, AlertRule[]>()

  constructor(rules: Iterable<AlertRule>) {
    for (const rule of rules) {
      if (!rule.enabled) continue
      const place = `${rule.watch} ${narrowest(rule)}`
      const there = this.#places.get(place)
      if (there === undefined) this.#places.set(place, [rule])
      else there.push(rule)
    }
  }

  of({ watch, labels }: Pick<Signal, 'watch' | 'labels'>): AlertRule[] {
    const found: AlertRule[] = []
    for (const place of placesOf(labels)) {
      for (const rule of this.#places.get(`${watch} ${place}`) ?? []) if (isInScope(rule, labels)) found.push(rule)
    }
    return found
  }
}

const narrowest = ({ project, spider, scheduleId, nodeId, nodeTag }: AlertScope): string =>
  scheduleId !== null
    ? `s ${scheduleId}`
    : nodeId !== null
      ? `n ${nodeId}`
      : spider !== null
        ? `r ${spider}`
        : project !== null
          ? `p ${project}`
          : nodeTag !== null
            ? `t ${nodeTag}`
            : ''

function placesOf({ project, spider, scheduleId, nodeId, nodeTags }: AlertLabels): string[] {
  const places = ['']
  if (scheduleId !== null) places.push(`s ${scheduleId}`)
  if (nodeId !== null) places.push(`n ${nodeId}`)
  if (spider !== null) places.push(`r ${spider}`)
  if (project !== null) places.push(`p ${project}`)
  for (const tag of new Set(nodeTags)) places.push(`t ${tag}`)
  return places
}
