import { StandardOpenAPIMatcher } from '@orpc/openapi/standard'
import type { AnyRouter } from '@orpc/server'
import { StandardRPCMatcher, type StandardMatcher } from '@orpc/server/standard'
import type { OperationMeta } from '../../shared/contract/index.ts'

export interface RequestedOperation extends OperationMeta {
  name: string
}

/** Finds the operation of a request before its handler runs, with the same matchers as the handlers. */
export class RequestedOperations {
  private readonly mounts: { prefix: string; matcher: StandardMatcher }[]

  constructor(router: AnyRouter) {
    const rest = new StandardOpenAPIMatcher()
    this.mounts = [
      { prefix: '/api/rpc/', matcher: new StandardRPCMatcher() },
      { prefix: '/api/v1/', matcher: rest },
      // For crawl orders outside the API (crawl-endpoints.ts).
      { prefix: '/', matcher: rest }
    ]
    for (const { matcher } of this.mounts.slice(0, 2)) matcher.init(router)
  }

  /** Returns undefined if the contract has no such operation. `path` may include the query. */
  async find(method: string, path: string): Promise<RequestedOperation | undefined> {
    const { pathname } = new URL(`http://x${path}`)
    const mount = this.mounts.find(({ prefix }) => pathname.startsWith(prefix))
    const match = await mount?.matcher.match(method, `/${pathname.slice(mount.prefix.length).replace(/\/$/, '')}`)
    if (match === undefined) return undefined
    return { ...(match.procedure['~orpc'].meta as OperationMeta), name: match.path.join('.') }
  }
}
