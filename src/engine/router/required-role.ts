import { implement } from '@orpc/server'
import { contract, type OperationMeta } from '../../shared/contract/index.ts'
import { includesRole } from '../../shared/roles.ts'
import { actAs } from '../access/acting.ts'
import { requireRole } from '../access/principal.ts'
import type { Audit } from '../audit/audit.ts'
import type { RouterContext } from './router-context.ts'

/**
 * The contract, to be implemented: each operation first refuses whoever lacks the role that its metadata names,
 * whatever transport the call came over, and before its input is validated. The only place that does so, and that
 * records in the audit log what is done or refused.
 */
export const implementWithRoles = (audit: Pick<Audit, 'perform' | 'refuse'>) =>
  implement(contract)
    .$context<RouterContext>()
    .use(async ({ context, procedure, path, next }, input) => {
      const { role, writes } = procedure['~orpc'].meta as OperationMeta
      const { principal, source, origin = { door: source, address: null } } = context
      const operation = path.join('.')
      const perform = () => {
        requireRole(principal, role, operation)
        return next()
      }
      if (writes || !includesRole(principal.role, role)) {
        return audit.perform({ principal, origin }, { operation, input, writes }, perform)
      }
      return actAs(principal, perform)
    })
