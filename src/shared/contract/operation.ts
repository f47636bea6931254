import { type AnyContractProcedure, type HTTPMethod, type HTTPPath, isContractProcedure, oc } from '@orpc/contract'
import { type Permission, type Permissions, permissionsOf } from '../permissions.ts'

/**
 * What a field of an operation's input refers to. For plurals, things that do not exist are skipped. `run` has a
 * project and dependencies. `place` is a position in the queue, before a job.
 */
export type NamedThing =
  | ('project' | 'job' | 'jobs' | 'place' | 'dependencies' | 'run' | 'runs' | 'schedule' | 'schedules')
  | ('crawlOrder' | 'chain' | 'errorGroup' | 'errorGroups' | 'environment')
  /** `maybeProject`: null stands for the whole service. */
  | ('maybeProject' | 'alertRule' | 'alertRules' | 'alert' | 'alerts' | 'alertSilence' | 'alertSilences')
  | ('node' | 'newNode')

/**
 * What an operation concerns. `caller`: only the caller, or public facts. `service`: the whole service, so the caller
 * needs the permissions for all projects. `seen`: everything that the caller can see; the handler filters it.
 * Otherwise, what these fields refer to (engine/api/router/subjects.ts): the caller needs the permissions in all
 * projects involved, or for the node.
 */
export type Subject = 'caller' | 'seen' | 'service' | { readonly [field: string]: NamedThing }

export interface OperationMeta {
  about: Subject
  writes: boolean
  /** Whether the operation is performed only once per Idempotency-Key. */
  takesKey: boolean
  /** The maximum size of the response to this input, in bytes of JSON. Absent: small. */
  answerBytes?: (input: Record<string, unknown>) => number
  /** The permissions that a caller needs. They are checked before the input (engine/api/router/required-rights.ts). */
  needs: Permissions
  /**
   * How long a request with this body can be repeated if its outcome is unknown: as long as its key finds the created
   * jobs. The body is not validated yet. Absent: never.
   */
  repeatableForMs?: (body: unknown, defaults?: { crawlCacheSeconds: number }) => number
  /**
   * The response has a secret that must not be stored. A repeated request with the same key is either performed
   * `again`, which replaces the first result, or, with `once`, rejects with IDEMPOTENCY_SECRET_NOT_KEPT.
   */
  tellsSecret?: 'again' | 'once'
  /** Flags of the body that REST clients can also send in the query, as `1`, `true`, `yes` or `on`. */
  alsoInQuery?: readonly string[]
}

/** `answerBytes` of a list with pages that end after 4 MB of large rows. Other rows are smaller than 12 kB. */
export const pageBytes = ({ limit = 100 }: Record<string, unknown>): number =>
  4_000_000 + 12_000 * Math.min(Number(limit), 500)

type Address = `${HTTPMethod} ${HTTPPath}`
type Needed = Permission | readonly [Permission, ...Permission[]]

export const read = (needed: Needed, address: Address, about: Subject, meta: Pick<OperationMeta, 'answerBytes'> = {}) =>
  begin(needed, address, about, { writes: false, takesKey: false, ...meta })

/** Like `read`, for input that is too large for a query. Sent with POST, which accepts a key like every POST. */
export const ask = (needed: Needed, address: Address, about: Subject, meta: Pick<OperationMeta, 'answerBytes'> = {}) =>
  begin(needed, address, about, { writes: false, takesKey: true, ...meta })

export const write = (
  needed: Needed,
  address: Address,
  about: Subject,
  meta: Pick<OperationMeta, 'repeatableForMs' | 'answerBytes' | 'alsoInQuery' | 'tellsSecret'> = {}
) => begin(needed, address, about, { writes: true, takesKey: true, ...meta })

function begin(needed: Needed, address: Address, about: Subject, meta: Omit<OperationMeta, 'needs' | 'about'>) {
  const [method, path] = address.split(' ') as [HTTPMethod, HTTPPath]
  const needs = permissionsOf(typeof needed === 'string' ? [needed] : needed)
  return oc.$meta<OperationMeta>({ needs, about, ...meta }).route({ method, path })
}

/** How long a key must remain valid after it is checked. The key is used only later. */
const MARGIN_MS = 10_000

/** For the `repeatableForMs` of requests whose jobs have their own key with this lifetime. */
export const knownForMs = (seconds: unknown): number => Number(seconds) * 1_000 - MARGIN_MS
/** Whether the flag may become true. In a body that is not validated yet, any value except false can. */
export const isSet = (flag: unknown): boolean => flag != null && flag !== false

export type Operation = AnyContractProcedure & { '~orpc': { meta: OperationMeta } }
/** An operation that is not declared with `read`, `ask` or `write` does not compile. */
export interface Operations {
  [name: string]: Operation | Operations
}

/** Every operation by name: `jobs.run`. */
export function listOperations(contract: Operations, above: string[] = []): Map<string, Operation> {
  return new Map(
    Object.entries(contract).flatMap(([name, part]) => {
      const path = [...above, name]
      return isOperation(part) ? [[path.join('.'), part] as const] : [...listOperations(part, path)]
    })
  )
}

function isOperation(part: Operation | Operations): part is Operation {
  return isContractProcedure(part)
}
