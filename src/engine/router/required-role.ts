import { implement } from '@orpc/server'
import { contract, type OperationMeta } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { actAs } from '../access/acting.ts'
import { requireRole } from '../access/principal.ts'
import type { RouterContext } from './router-context.ts'

/**
 * The contract, to be implemented: each operation first refuses whoever lacks the role that its metadata names,
 * whatever transport the call came over, and before its input is validated. The only place that does so.
 */
export const implementWithRoles = () =>
  implement(contract)
    .$context<RouterContext>()
    .use(({ context, procedure, path, next }) => {
      const { role } = procedure['~orpc'].meta as OperationMeta
      if (context.isCurrent?.() === false) throw noLonger()
      requireRole(context.principal, role, path.join('.'))
      return actAs(context.principal, () => next())
    })

/** Its session, token or role ended while it was being sent. */
const noLonger = () =>
  new ScrapdeckError(
    'UNAUTHORIZED',
    'The session, the token or the role of this request ended meanwhile. Log in again.',
    {
      data: { credentials: 'wrong' }
    }
  )
