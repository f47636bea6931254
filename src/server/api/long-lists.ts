import { ORPCError } from '@orpc/client'
import { type AnyProcedure, Procedure } from '@orpc/server'
import { z } from 'zod'
import { yielder, nextTurn } from '../../engine/runtime/yielder.ts'
import { type Clock, systemClock } from '../../engine/runtime/clock.ts'

/**
 * The maximum length of a list that is validated together with the rest of the input. Longer lists that are direct
 * properties of the input are validated in slices, because jobs.runMany accepts 10,000 items.
 */
const LONG_LIST_ITEMS = 50
/** The maximum number of issues to find in a list. Only the first issues are reported (wire-errors.ts). */
const ISSUES_MAX = 5

interface Call {
  procedure: AnyProcedure
  input: unknown
}

interface LongList {
  name: string
  items: unknown[]
  schema: z.ZodArray<z.ZodType>
}

/** Converts strings to the expected types in the whole input or, if `list` is given, in an item of that list. */
export type Coerce = (value: unknown, list?: string) => unknown

let lastTurn: Promise<void> = Promise.resolve()

/**
 * Resolves in a later turn of the event loop. Each caller gets its own turn, so that short requests can run between
 * them.
 */
export const giveWay = (): Promise<void> => (lastTurn = lastTurn.then(nextTurn))

export function longListsOf({ procedure, input }: Call): LongList[] {
  if (typeof input !== 'object' || input === null) return []
  const { inputSchema: whole } = procedure['~orpc']
  return Object.entries(input).flatMap(([name, items]) => {
    if (!Array.isArray(items) || items.length <= LONG_LIST_ITEMS) return []
    // A check of the whole input needs the lists, so they cannot be validated separately.
    if (!(whole instanceof z.ZodObject) || whole.def.checks?.length || !Object.hasOwn(whole.shape, name)) return []
    const schema: unknown = whole.shape[name]
    return schema instanceof z.ZodArray ? [{ name, items, schema: schema as LongList['schema'] }] : []
  })
}

/**
 * Calls `visit` for the items until it returns true. Works in slices of several milliseconds, each in its own turn of
 * the event loop.
 */
export async function visitInSlices(
  items: readonly unknown[],
  visit: (item: unknown, index: number) => boolean,
  clock: Pick<Clock, 'monotonicMs'> = systemClock
): Promise<void> {
  await giveWay()
  const yieldTurn = yielder(clock, giveWay)
  for (const [index, item] of items.entries()) {
    if (visit(item, index)) return
    await yieldTurn()
  }
}

/**
 * Validates long lists in slices. Returns the call with a procedure that does not validate them again. Coerces an item
 * only if the item is not valid as sent. Rejects with oRPC's errors.
 */
export async function readLongLists(call: Call, coerce: Coerce = (value) => value): Promise<Call> {
  const lists = longListsOf(call)
  if (lists.length === 0) return call
  const parts = call.procedure['~orpc']
  const bounds = lists.map(({ name, schema }) => [name, schema.clone({ ...schema.def, element: z.unknown() })])
  const withoutItems = { ...(call.input as object), ...Object.fromEntries(lists.map(({ name }) => [name, []])) }
  const read = (parts.inputSchema as z.ZodObject).extend(Object.fromEntries(bounds) as z.ZodRawShape).safeParse({
    ...(coerce(withoutItems) as object),
    ...Object.fromEntries(lists.map(({ name, items }) => [name, items]))
  })
  if (!read.success) throw notValid(read.error.issues)
  const input = { ...read.data }
  for (const list of lists) input[list.name] = await readItems(list, coerce)
  return { procedure: new Procedure({ ...parts, inputSchema: undefined }), input }
}

async function readItems({ name, items, schema: { element } }: LongList, coerce: Coerce): Promise<unknown[]> {
  const values: unknown[] = []
  const issues: z.core.$ZodIssue[] = []
  await visitInSlices(items, (item, index) => {
    const asSent = element.safeParse(item)
    const read = asSent.success ? asSent : element.safeParse(coerce(item, name))
    if (read.success) values.push(read.data)
    else issues.push(...read.error.issues.map((issue) => ({ ...issue, path: [name, index, ...issue.path] })))
    return issues.length >= ISSUES_MAX
  })
  if (issues.length > 0) throw notValid(issues)
  return values
}

const notValid = (issues: z.core.$ZodIssue[]) =>
  new ORPCError('BAD_REQUEST', { message: 'Input validation failed', data: { issues } })
