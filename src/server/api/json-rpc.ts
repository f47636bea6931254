import { getEventIteratorSchemaDetails } from '@orpc/contract'
import { type AnyProcedure, call, isProcedure } from '@orpc/server'
import { z } from 'zod'
import type { RouterContext } from '../../engine/api/router/router.ts'
import type { Logger } from '../../engine/runtime/logger.ts'
import { contract, listOperations } from '../../shared/contract/index.ts'
import { ERROR_CODES } from '../../shared/errors.ts'
import { toWireError } from '../../shared/wire-errors.ts'
import {
  failure,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  type JsonRpcAnswer,
  type JsonRpcId,
  MAX_BATCH,
  METHOD_NOT_FOUND,
  SERVER_ERROR
} from './json-rpc-answer.ts'
import { readLongLists } from './long-lists.ts'
import { checkParts } from './unknown-parts.ts'

/** The maximum total size of a batch's responses. Several copies of their JSON are in memory at once. */
const BATCH_ANSWER_BYTES = 12 * 1024 * 1024
const CALLS_AT_ONCE = 8

/**
 * Performs the calls of a batch while there is room for their responses. Each call first reserves room for its largest
 * possible response, so that no work is done for a response that cannot be sent.
 */
export class AnswerBudget {
  readonly #limitBytes: number
  readonly #running = new Set<Promise<void>>()
  #takenBytes = 0

  constructor(limitBytes = BATCH_ANSWER_BYTES) {
    this.#limitBytes = limitBytes
  }

  /** Starts or rejects the call. Resolves when the next call can start. Rejects if an earlier call failed. */
  async spend(mostBytes: number, call: { perform: () => Promise<number>; refuse: () => void }): Promise<void> {
    const fits = () => this.#takenBytes + mostBytes <= this.#limitBytes
    // Wait for running calls, because their responses can be smaller than their reserved room.
    while (this.#running.size >= CALLS_AT_ONCE || (!fits() && this.#running.size > 0)) {
      await Promise.race(this.#running)
    }
    if (!fits()) return call.refuse()
    this.#takenBytes += mostBytes
    const running: Promise<void> = call.perform().then((bytes) => {
      this.#takenBytes += bytes - mostBytes
      this.#running.delete(running)
    })
    this.#running.add(running)
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running)
  }
}

const USUAL_ANSWER_BYTES = 65_536

const Id = z.union([z.string().max(1_000), z.number(), z.null()])
const Call = z.strictObject({
  jsonrpc: z.literal('2.0'),
  method: z.string().max(200),
  params: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())]).optional(),
  id: Id.optional()
})

const OPERATIONS = listOperations(contract)

/**
 * Serves the contract as JSON-RPC 2.0: `{"method": "jobs.list", "params": {"limit": 5}}`. The calls of a batch start in
 * order and share one response. Returns null if the body contains only notifications.
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
  const text = `A batch may return ${limit}, and this call may need more than is left. Nothing was done: send it in another batch, or alone.`
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
  id: JsonRpcId,
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
    await checkParts({ procedure, operation: method, input: params })
    const read = await readLongLists({ procedure, input: inputSchema === undefined ? undefined : params })
    const output: unknown = await call(read.procedure, read.input, { context, path })
    const result = route.outputStructure === 'detailed' ? (output as { body: unknown }).body : output
    return { jsonrpc: '2.0', id, result: result ?? null }
  } catch (error) {
    const wire = toWireError(error)
    if (wire.code === 'INTERNAL') logger.error({ err: error, method }, 'A call of the contract failed')
    const code = wire.code === 'BAD_INPUT' ? INVALID_PARAMS : wire.code === 'INTERNAL' ? INTERNAL_ERROR : SERVER_ERROR
    return failure(id, code, wire.message, { code: wire.code, status: wire.status, data: wire.data })
  }
}

/** Reads only own properties, because `constructor` and similar names are not methods. */
function find(router: object, path: string[]): AnyProcedure | null {
  let found: unknown = router
  for (const step of path) {
    if (typeof found !== 'object' || found === null || isProcedure(found) || !Object.hasOwn(found, step)) return null
    found = (found as Record<string, unknown>)[step]
  }
  return isProcedure(found) ? found : null
}
