import { AsyncLocalStorage } from 'node:async_hooks'
import type { Principal } from './principal.ts'

const acting = new AsyncLocalStorage<Principal>()

/** What `work` does, and whatever it starts, is recorded as done by this principal. */
export const actAs = <T>(principal: Principal, work: () => T): T => acting.run(principal, work)

/** For the end of a sentence: ` by anna`. Empty: the owner of this machine, or nobody, such as a schedule. */
export function byWhom(): string {
  const principal = acting.getStore()
  return principal === undefined || principal.userId === null ? '' : ` by ${principal.name}`
}
