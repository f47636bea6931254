import { implement } from '@orpc/server'
import { contract, type OperationMeta } from '../../shared/contract/index.ts'
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
      requireRole(context.principal, role, path.join('.'))
      return actAs(context.principal, () => next())
    })
