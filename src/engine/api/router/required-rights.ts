import type { AnyContractRouter, ContractProcedure, InferSchemaInput, InferSchemaOutput } from '@orpc/contract'
import { implement, type Router } from '@orpc/server'
import { type Contract, contract, type OperationMeta, type ProjectName } from '../../../shared/contract/index.ts'
import { seenProjects } from '../../access/rights.ts'
import { withoutSimilarNames } from '../../projects/catalog.ts'
import { includes, NONE } from '../../../shared/permissions.ts'
import { actAs, actWhile } from '../../access/acting.ts'
import { requirePermission, requirePermissionEverywhere } from '../../access/principal.ts'
import type { Audit } from '../../access/audit/audit.ts'
import { narrowToSeen, type SubjectReads } from './subjects.ts'
import type { RouterContext } from './router-context.ts'

const metaOf = (procedure: { '~orpc': { meta: unknown } }) => procedure['~orpc'].meta as OperationMeta

const answerOf = (result: unknown): unknown => (result as { output: unknown }).output

/** Copies the input, because narrowToSeen later changes the fields of the validated input. */
const asSent = (input: unknown): unknown =>
  typeof input === 'object' && input !== null && Object.getPrototypeOf(input) === Object.prototype
    ? { ...input }
    : input

/**
 * On every transport, each operation refuses callers without the rights that its metadata names. The permission is
 * checked before the input is validated; the things that the input names are checked afterwards. Only this code checks
 * the rights of the contract's operations, and writes operations and refusals to the audit log.
 */
export const implementWithRights = (reads: SubjectReads, audit: Pick<Audit, 'perform' | 'refuse'>) =>
  // With -1, the first middleware runs before the validation (https://orpc.dev/docs/advanced/validation).
  implement(contract, { initialInputValidationIndex: -1 })
    .$context<RouterContext>()
    .use(async ({ context, procedure, path, next }, input) => {
      const { needs, about, writes } = metaOf(procedure)
      const { principal, source, sessions, origin = { door: source, address: null } } = context
      const operation = path.join('.')
      const require = about === 'service' ? requirePermissionEverywhere : requirePermission
      const perform = () => {
        require(principal, needs, operation)
        return sessions === undefined || !writes ? next() : actWhile(sessions.ownIsOpen, next)
      }
      const { everywhere, anywhere } = principal.rights
      const held = about === 'service' ? (everywhere ?? NONE) : anywhere
      if (writes || !includes(held, needs)) {
        return audit.perform({ principal, origin }, { operation, input: asSent(input), writes, answerOf }, perform)
      }
      return actAs(principal, perform)
    })
    .use(async ({ context: { principal }, procedure, path, next }, input) => {
      const { needs, about } = metaOf(procedure)
      const { everywhere } = principal.rights
      if (typeof about === 'string' || (everywhere !== null && includes(everywhere, needs))) return next()
      // Changing the input is safe, because validation creates a new object for each call.
      const fields = input as Record<string, unknown>
      await narrowToSeen(fields, about, { principal, needs, what: path.join('.') }, reads)
      if (seenProjects(principal.rights) === null) return next()
      try {
        return await next()
      } catch (error) {
        throw withoutSimilarNames(String(fields['project']) as ProjectName, error)
      }
    })

export type Handlers<Part extends AnyContractRouter = Contract> =
  Part extends ContractProcedure<infer Input, infer Output, infer _Errors, infer _Meta>
    ? (call: {
        input: InferSchemaOutput<Input>
        context: RouterContext
        signal: AbortSignal | undefined
      }) => InferSchemaInput<Output> | Promise<InferSchemaInput<Output>>
    : { [Name in keyof Part]: Part[Name] extends AnyContractRouter ? Handlers<Part[Name]> : never }

type Implementer = { [name: string]: Implementer } & { handler: (handler: unknown) => unknown }

export function implementAll<Some extends Partial<Handlers>>(
  os: ReturnType<typeof implementWithRights>,
  handlers: Some
) {
  const bind = (at: Implementer, part: unknown): unknown =>
    typeof part === 'function'
      ? at.handler(part)
      : Object.fromEntries(Object.entries(part as object).map(([name, inner]) => [name, bind(at[name]!, inner)]))
  return bind(os as unknown as Implementer, handlers) as Pick<
    Router<Contract, RouterContext>,
    keyof Some & keyof Contract
  >
}
