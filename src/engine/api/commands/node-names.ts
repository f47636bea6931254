import type { NodeAddress } from '../../../shared/contract/index.ts'
import { shortNameOf } from '../../../shared/ssh-address.ts'

/** For a node that is given none. */
export function nameOf({ kubernetes }: Pick<NodeAddress, 'kubernetes'>, url: string): string {
  // Several namespaces of a cluster have one host.
  const namespace = kubernetes ? new URL(url).pathname.split('/').at(-2) : undefined
  return namespace ?? shortNameOf(url)
}

/** Names of nodes: `eu-1`, `eu-1-2`, `eu-1-3` … */
export class TakenNames {
  readonly #taken: Set<string>
  /** The last number given to a name: thousands of nodes may want the same one. */
  readonly #numbers = new Map<string, number>()

  constructor(names: string[]) {
    this.#taken = new Set(names)
  }

  take(wanted: string): string {
    let number = this.#numbers.get(wanted) ?? 1
    let name = number === 1 ? wanted : `${wanted}-${number}`
    while (this.#taken.has(name)) name = `${wanted}-${(number += 1)}`
    this.#numbers.set(wanted, number)
    this.#taken.add(name)
    return name
  }
}
