import { type AnyContractProcedure, type HTTPMethod, type HTTPPath, isContractProcedure, oc } from '@orpc/contract'

/**
 * Who may do it, each with all rights of those before: viewer reads; operator runs, cancels, pauses, retries and
 * schedules; deployer has projects, eggs and environments; admin nodes, settings, webhooks and plugins; owner users and
 * secrets. Nothing enforces roles yet.
 */
export const ROLES = ['viewer', 'operator', 'deployer', 'admin', 'owner'] as const
export type Role = (typeof ROLES)[number]

/** What a server must know of an operation, in addition to its schemas. */
export interface OperationMeta {
  /** It changes something. */
  writes: boolean
  /** It is done once for each Idempotency-Key. */
  takesKey: boolean
  /** What a call counts for against the rate limit of its credential, in requests. */
  cost: number
  /** The least role that it needs. */
  role: Role
  /**
   * For how long a request with this body may be done again where nobody knows whether it was done: as long as the jobs
   * it ordered are known by its key. The body is as it came, unchecked. Absent: never.
   */
  repeatableForMs?: (body: unknown) => number
}

/** Where REST has it: `POST /jobs/{id}/retry`. */
type Address = `${HTTPMethod} ${HTTPPath}`

/** Begins an operation that changes nothing. */
export const read = (role: Role, address: Address) => begin(role, address, { writes: false, takesKey: false })

/** The same with an input that is too large for an address: sent with POST, which takes a key like every POST. */
export const ask = (role: Role, address: Address) => begin(role, address, { writes: false, takesKey: true })

/** Begins an operation that changes something. */
export const write = (role: Role, address: Address, meta: Pick<OperationMeta, 'repeatableForMs'> = {}) =>
  begin(role, address, { writes: true, takesKey: true, ...meta })

function begin(role: Role, address: Address, meta: Omit<OperationMeta, 'role' | 'cost'>) {
  const [method, path] = address.split(' ') as [HTTPMethod, HTTPPath]
  return oc.$meta<OperationMeta>({ cost: 1, role, ...meta }).route({ method, path })
}

/** A key that is checked now must still be known when it is used. */
const MARGIN_MS = 10_000

/** Of `repeatableForMs`, for orders that are known by a key of their own for so long. */
export const knownForMs = (seconds: unknown): number => Number(seconds) * 1_000 - MARGIN_MS
/** Of `repeatableForMs`: in an unchecked body everything but false may become true. */
export const isSet = (flag: unknown): boolean => flag !== undefined && flag !== false

export type Operation = AnyContractProcedure & { '~orpc': { meta: OperationMeta } }
/** What a contract is made of: an operation not begun with `read`, `ask` or `write` does not compile. */
export interface Operations {
  [name: string]: Operation | Operations
}

/** Every operation by its name: `jobs.run`. */
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
