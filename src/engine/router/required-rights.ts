import { implement } from '@orpc/server'
import { contract, type OperationMeta } from '../../shared/contract/index.ts'
import type { ProjectName } from '../../shared/contract/index.ts'
import { seenProjects } from '../access/rights.ts'
import { withoutSimilarNames } from '../projects/catalog.ts'
import { includesRole } from '../../shared/roles.ts'
import { actAs } from '../access/acting.ts'
import { requireRole, requireRoleEverywhere } from '../access/principal.ts'
import { narrowToSeen, type SubjectReads } from './subjects.ts'
import type { RouterContext } from './router-context.ts'

const metaOf = (procedure: { '~orpc': { meta: unknown } }) => procedure['~orpc'].meta as OperationMeta

/**
 * The contract, to be implemented: each operation first refuses whoever lacks what its metadata names, whatever
 * transport the call came over. The role is asked before the input is validated; what the input is about, after that.
 * The only place that does so.
 */
export const implementWithRights = (reads: SubjectReads) =>
  // One of the two comes before the validation (https://orpc.dev/docs/advanced/validation).
  implement(contract, { initialInputValidationIndex: -1 })
    .$context<RouterContext>()
    .use(({ context: { principal }, procedure, path, next }) => {
      const { role, about } = metaOf(procedure)
      requireRole(principal, role, path.join('.'))
      if (about === 'service') requireRoleEverywhere(principal, role, path.join('.'))
      return actAs(principal, () => next())
    })
    .use(async ({ context: { principal }, procedure, path, next }, input) => {
      const { role, about } = metaOf(procedure)
      const { everywhere } = principal.rights
      if (typeof about === 'string' || (everywhere !== null && includesRole(everywhere, role))) return next()
      // The validated input is made for this call alone.
      const fields = input as Record<string, unknown>
      await narrowToSeen(fields, about, { principal, role, what: path.join('.') }, reads)
      if (seenProjects(principal.rights) === null) return next()
      try {
        return await next()
      } catch (error) {
        throw withoutSimilarNames(String(fields['project']) as ProjectName, error)
      }
    })
