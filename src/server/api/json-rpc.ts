import { getEventIteratorSchemaDetails } from '@orpc/contract'
import { type AnyProcedure, call, isProcedure } from '@orpc/server'
import { z } from 'zod'
import type { RouterContext } from '../../engine/router/router.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { contract, listOperations } from '../../shared/contract/index.ts'
import { ERROR_CODES, isScrapdeckError } from '../../shared/errors.ts'
import { toWireError } from '../../shared/wire-errors.ts'
import { AnswerBudget, BATCH_ANSWER_BYTES } from './answer-budget.ts'
import { UnusableTreeError } from './json-body.ts'
import { checkParts } from './unknown-parts.ts'

/** Codes of JSON-RPC 2.0. All other errors are -32000, with our own code in `data`. */
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const METHOD_NOT_FOUND = -32601
const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603
const SERVER_ERROR = -32000

export const MAX_BATCH = 1_000
/** For operations that do not declare it. */
const USUAL_ANSWER_BYTES = 65_536

const Id = z.union([z.string().max(1_000), z.number(), z.null()])
const Call = z.strictObject({
  jsonrpc: z.literal('2.0'),
  method: z.string().max(200),
  params: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
  id: Id.optional()
})

type Id = z.infer<typeof Id>
export type JsonRpcAnswer = { jsonrpc: '2.0'; id: Id } & (
  | { result: unknown }
  | { error: { code: number; message: string; data?: unknown } }
)

const OPERATIONS = listOperations(contract)

/** Cost of the calls in a body, in requests, for the rate limit. A batch that is rejected as a whole costs 1. */
export function costOfCalls(body: unknown): number {
  if (Array.isArray(body) && body.length > MAX_BATCH) return 1
  const calls: unknown[] = Array.isArray(body) && body.length > 0 ? body : [body]
  return calls.reduce<number>((sum, one) => {
    const method = String((one as { method?: unknown } | null | undefined)?.method)
    return sum + (OPERATIONS.get(method)?.['~orpc'].meta.cost ?? 1)
  }, 0)
}

/**
 * JSON-RPC 2.0 over the contract: `{"method": "jobs.list", "params": {"limit": 5}}`. Parameters are named. The calls of
 * a batch start in order, a few at once, and are answered together; one whose answer has no room any more is not
 * performed. Returns null if there are only notifications.
 */
export async function answerJsonRpc(
  body: unknown,
  options: { router: object; context: RouterContext; logger: Logger }
): Promise<JsonRpcAnswer | JsonRpcAnswer[] | null> {
  if (!Array.isArray(body)) return answerCall(body, options)
  if (body.length === 0) return failure(null, INVALID_REQUEST, 'A batch must have at least one call.')
  if (body.length > MAX_BATCH) return failure(null, INVALID_REQUEST, `A batch must have at most ${MAX_BATCH} calls.`)
  const { onceKey } = options.context
  const answers: (JsonRpcAnswer | null)[] = []
  const budget = new AnswerBudget()
  for (const [index, one] of body.entries()) {
    const context = onceKey === undefined ? options.context : { ...options.context, onceKey: `${onceKey}/${index}` }
    await budget.spend(mostBytesOf(one), {
      perform: async () => {
        const answer = (answers[index] = await answerCall(one, { ...options, context }))
        return answer === null ? 0 : Buffer.byteLength(JSON.stringify(answer))
      },
      refuse: () => (answers[index] = refuseForBudget(one))
    })
  }
  await budget.settled()
  const given = answers.filter((answer) => answer !== null)
  return given.length === 0 ? null : given
}

/** The most that a call may answer, as far as that is known before it is performed. */
function mostBytesOf(body: unknown): number {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: unknown }
  const { answerBytes } = OPERATIONS.get(String(method))?.['~orpc'].meta ?? {}
  return answerBytes?.((params ?? {}) as Record<string, unknown>) ?? USUAL_ANSWER_BYTES
}

function refuseForBudget(body: unknown): JsonRpcAnswer | null {
  const read = Call.safeParse(body)
  if (read.success && read.data.id === undefined) return null
  const id = read.success ? read.data.id! : null
  const limit = `${BATCH_ANSWER_BYTES / 1024 ** 2} MB`
  const text = `A batch may return ${limit}, and this call may need more than is left. Nothing was done: send it in another batch.`
  const code = 'ANSWER_TOO_LARGE'
  return failure(id, SERVER_ERROR, text, { code, status: ERROR_CODES[code].status, data: {} })
}

async function answerCall(
  body: unknown,
  options: { router: object; context: RouterContext; logger: Logger }
): Promise<JsonRpcAnswer | null> {
  const read = Call.safeParse(body)
  if (!read.success) {
    const id = Id.safeParse((body as { id?: unknown } | null)?.id)
    const others = read.error.issues.flatMap((issue) => (issue.code === 'unrecognized_keys' ? issue.keys : []))
    const words =
      others.length === 0 ? '' : ` It has jsonrpc, method, params and id, but no "${others[0]!.slice(0, 100)}".`
    return failure(id.success ? id.data : null, INVALID_REQUEST, `This is not a call of JSON-RPC 2.0.${words}`)
  }
  const { method, params = {}, id } = read.data
  const answer = await perform(method, params, id ?? null, options)
  return id === undefined ? null : answer
}

async function perform(
  method: string,
  params: Record<string, unknown> | unknown[],
  id: Id,
  { router, context, logger }: { router: object; context: RouterContext; logger: Logger }
): Promise<JsonRpcAnswer> {
  const path = method.split('.')
  const procedure = find(router, path)
  if (procedure === null) return failure(id, METHOD_NOT_FOUND, `There is no method ${method}; /api lists them all.`)
  const { outputSchema, inputSchema, route } = procedure['~orpc']
  if (getEventIteratorSchemaDetails(outputSchema) !== undefined) {
    return failure(
      id,
      METHOD_NOT_FOUND,
      `${method} returns a stream: request it as ${route.method} /api/v1${route.path}.`
    )
  }
  if (Array.isArray(params)) return failure(id, INVALID_PARAMS, 'Send the parameters by name, as an object.')
  try {
    checkParts({ procedure, operation: method, input: params })
    const output: unknown = await call(procedure, inputSchema === undefined ? undefined : params, { context, path })
    const result = route.outputStructure === 'detailed' ? (output as { body: unknown }).body : output
    return { jsonrpc: '2.0', id, result: result ?? null }
  } catch (error) {
    const wire = toWireError(error)
    if (wire.code === 'INTERNAL') logger.error({ err: error, method }, 'A call of the contract failed')
    const code = wire.code === 'BAD_INPUT' ? INVALID_PARAMS : wire.code === 'INTERNAL' ? INTERNAL_ERROR : SERVER_ERROR
    return failure(id, code, wire.message, { code: wire.code, status: wire.status, data: wire.data })
  }
}

/** Own properties only: `constructor` and the like are not methods. */
function find(router: object, path: string[]): AnyProcedure | null {
  let found: unknown = router
  for (const step of path) {
    if (typeof found !== 'object' || found === null || isProcedure(found) || !Object.hasOwn(found, step)) return null
    found = (found as Record<string, unknown>)[step]
  }
  return isProcedure(found) ? found : null
}

function failure(id: Id, code: number, message: string, data?: unknown): JsonRpcAnswer {
  return { jsonrpc: '2.0', id, error: data === undefined ? { code, message } : { code, message, data } }
}

/** The answer to a body that cannot be read (json-body.ts); null for other errors. */
export function answerToUnusableBody(error: unknown): JsonRpcAnswer | null {
  if (!isScrapdeckError(error)) return null
  if (error.cause instanceof SyntaxError) return failure(null, PARSE_ERROR, error.message)
  return error.cause instanceof UnusableTreeError ? failure(null, INVALID_REQUEST, error.message) : null
}
