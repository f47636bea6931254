import { maskField } from '../../../shared/audit-mask.ts'
import type { AuditChange, AuditField } from '../../../shared/contract/index.ts'

export interface Thing {
  id: string
  name: string
  value: object
}

/** What a write changes, read before and after it in the same transaction. */
export interface Watched {
  noun: string
  read: () => Thing[]
}

const FIELD_MAX = 300
const OPENED = new Set(['settings', 'policy'])
/** Fields that change without a user's request, or that repeat other fields. */
const LEFT_OUT = new Set([
  ...['id', 'revision', 'createdAtMs', 'lastSeenAtMs', 'lastUsedAtMs', 'sessionsSinceMs', 'doneUntilMs', 'runCount'],
  ...['waiting', 'dead', 'dropped', 'problem', 'lastDeliveredAtMs', 'oldSecretUntilMs', 'failuresInARow'],
  ...['pauseNoteCode', 'pauseNoteParams']
])

export function differencesOf(noun: string, before: readonly Thing[], after: readonly Thing[]): AuditChange[] {
  const ids = new Set([...before, ...after].map(({ id }) => id))
  const find = (things: readonly Thing[], wanted: string) => things.find(({ id }) => id === wanted)
  return [...ids].flatMap((id) => {
    const [was, is] = [find(before, id), find(after, id)]
    const fields = fieldsThatDiffer(was?.value ?? {}, is?.value ?? {})
    return fields.length === 0 ? [] : [{ noun, name: (is ?? was)!.name, fields }]
  })
}

function fieldsThatDiffer(before: object, after: object): AuditField[] {
  const [was, is] = [fieldsOf(before), fieldsOf(after)]
  return [...new Set([...was.keys(), ...is.keys()])].flatMap((field) => {
    const [one, other] = [was.get(field), is.get(field)]
    if (JSON.stringify(one ?? null) === JSON.stringify(other ?? null)) return []
    const name = field.slice(field.lastIndexOf('.') + 1)
    return [{ field, before: maskField(name, one, FIELD_MAX), after: maskField(name, other, FIELD_MAX) }]
  })
}

function fieldsOf(value: object): Map<string, unknown> {
  return new Map(
    Object.entries(value).flatMap(([name, of]) => {
      if (LEFT_OUT.has(name)) return []
      if (!OPENED.has(name) || typeof of !== 'object' || of === null) return [[name, of] as const]
      return [...fieldsOf(of)].map(([inner, one]) => [inner, one] as const)
    })
  )
}
