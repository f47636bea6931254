import { getEventIteratorSchemaDetails } from '@orpc/contract'
import type { AnyProcedure } from '@orpc/server'
import type { OperationMeta } from '../../shared/contract/index.ts'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { suggestNear } from '../../shared/near-matches.ts'
import { longListsOf, visitInSlices } from './long-lists.ts'
import { z } from 'zod'

export interface Shape {
  $ref?: string
  type?: unknown
  const?: unknown
  anyOf?: Shape[]
  oneOf?: Shape[]
  allOf?: Shape[]
  items?: Shape
  properties?: Record<string, Shape>
  additionalProperties?: Shape | boolean
  $defs?: Record<string, Shape>
}

// Input and output have separate shapes, because a schema can return something other than what it accepts.
const shapes = { input: new WeakMap<object, Shape>(), output: new WeakMap<object, Shape>() }

export function shapeOfSchema(schema: object, side: 'input' | 'output'): Shape {
  let shape = shapes[side].get(schema)
  if (shape === undefined) {
    shape = z.toJSONSchema(schema as z.ZodType, { io: side, unrepresentable: 'any' }) as Shape
    shapes[side].set(schema, shape)
  }
  return shape
}

interface Asked {
  procedure: AnyProcedure
  operation: string
  input: unknown
}

interface RestRequest {
  method: string
  url: URL
  headers: Record<string, unknown>
  body(): Promise<unknown>
}

/** The query parameter that the API reads itself and does not pass to operations (fields.ts). */
const FIELDS = 'fields'
const LONGEST_NAME = 100

/**
 * Rejects with BAD_INPUT if the input has an unknown property, so that a typo is not silently ignored. Call this before
 * the operation runs. The schemas themselves allow unknown properties, because they also parse requests from older UI
 * pages and data stored by other versions. Maps with free names, such as arguments, accept any name.
 */
export async function checkParts({ procedure, operation, input }: Asked): Promise<void> {
  const root = shapeOf(procedure)
  const lists = longListsOf({ procedure, input })
  const rest =
    lists.length === 0 ? input : { ...(input as object), ...Object.fromEntries(lists.map(({ name }) => [name, []])) }
  const unknown = findUnknown(rest, root, root) ?? (await findUnknownInLists(lists, root))
  if (unknown === null) return
  const { path, known, isList } = unknown
  if (isList === true)
    throw new ScrapdeckError('BAD_INPUT', sentence('server.must_be_object', { path }), {
      data: { field: path.join('.') }
    })
  const above = path.slice(0, -1).join('.')
  throw refuse(operation, path, known, takes(above === '' ? 'It' : `"${above}"`, known))
}

/** Checks a REST request like `checkParts`. Also rejects a property in the wrong place: path, query or body. */
export async function checkRestParts(request: RestRequest, asked: Asked): Promise<void> {
  const { procedure, operation } = asked
  const input = (asked.input ?? {}) as Record<string, unknown>
  const inPath = [...(procedure['~orpc'].route.path ?? '').matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const others = Object.keys(shapeOf(procedure).properties ?? {}).filter((name) => !inPath.includes(name))
  const isRead = request.method === 'GET'
  const isStream = getEventIteratorSchemaDetails(procedure['~orpc'].outputSchema) !== undefined
  const { alsoInQuery = [] } = procedure['~orpc'].meta as Partial<OperationMeta>
  const inQuery = [...(isRead ? others : alsoInQuery), ...(isStream ? [] : [FIELDS])]
  checkQuery(request.url.searchParams, inQuery, operation, (name) =>
    others.includes(name) ? 'Send it in the body.' : takes('The query', inQuery)
  )
  if (isRead) {
    if (Number(request.headers['content-length'] ?? 0) > 0)
      throw new ScrapdeckError('BAD_INPUT', sentence('server.takes_no_body', { operation }))
    const { [FIELDS]: _ofEndpoint, ...own } = input
    return await checkParts({ ...asked, input: own })
  }
  const body = await request.body()
  if (body !== undefined && body !== null && (typeof body !== 'object' || Array.isArray(body)))
    throw new ScrapdeckError('BAD_INPUT', sentence('server.body_not_object', { operation }))
  for (const name of inPath) {
    const said = (body as Record<string, unknown> | null | undefined)?.[name]
    if (said !== undefined && said !== input[name])
      throw refuse(operation, [name], others, `The path has a different value: leave "${name}" out of the body.`)
  }
  // Check the body as it was sent, because coercion turns lists into objects where the schema expects objects.
  await checkParts(body instanceof FormData || body == null ? asked : { ...asked, input: body })
}

/** Throws BAD_INPUT if the query has an unknown name. Endpoints outside the contract use this too. */
export function checkQuery(
  query: URLSearchParams,
  known: string[],
  operation: string,
  next: (name: string) => string = () => takes('The query', known)
): void {
  for (const key of query.keys()) {
    // Brackets mark lists and objects, as in `status[]`. The API itself reads `fields`, which must not have brackets.
    const bare = key.split('[', 1)[0]!
    const name = bare === FIELDS ? key : bare
    if (!known.includes(name)) throw refuse(operation, [name], known, next(name), ' in its query')
  }
}

function refuse(operation: string, path: string[], known: string[], next: string, where = ''): ScrapdeckError {
  const name = path.at(-1)!
  const isLong = name.length > LONGEST_NAME
  const field = [...path.slice(0, -1), isLong ? `${name.slice(0, LONGEST_NAME)}…` : name].join('.')
  const near = suggestNear(name, known)
  return new ScrapdeckError('BAD_INPUT', sentence('server.unknown_part', { operation, field, where, near, next }), {
    data: { field, known }
  })
}

const takes = (what: string, known: string[]): string =>
  known.length === 0 ? `${what} takes nothing.` : `${what} takes ${known.join(', ')}.`

const NOTHING: Shape = { type: 'object', properties: {} }

function shapeOf(procedure: AnyProcedure): Shape {
  const { inputSchema } = procedure['~orpc']
  return inputSchema === undefined ? NOTHING : shapeOfSchema(inputSchema, 'input')
}

interface Unknown {
  path: string[]
  known: string[]
  /**
   * Whether the value is a list where an object is expected. The list's indexes must not be reported as unknown names.
   */
  isList?: boolean
}

async function findUnknownInLists(lists: ReturnType<typeof longListsOf>, root: Shape): Promise<Unknown | null> {
  for (const { name, items } of lists) {
    const shape = root.properties![name]!.items!
    let unknown: Unknown | null = null
    await visitInSlices(items, (item, index) => {
      const inItem = findUnknown(item, shape, root)
      if (inItem !== null) unknown = { ...inItem, path: [name, String(index), ...inItem.path] }
      return inItem !== null
    })
    if (unknown !== null) return unknown
  }
  return null
}

/** Returns null, without allocating memory, if there is no unknown property. An input can have ten thousand items. */
function findUnknown(value: unknown, shape: Shape, root: Shape): Unknown | null {
  // The schema checks the types of values.
  if (typeof value !== 'object' || value === null) return null
  if (shape.$ref !== undefined) {
    return findUnknown(value, shape.$ref === '#' ? root : root.$defs![shape.$ref.split('/').at(-1)!]!, root)
  }
  const choices = shape.anyOf ?? shape.oneOf
  if (choices !== undefined) {
    const meant = choices.filter((choice) => mayBe(value, choice))
    const isList = Array.isArray(value) && meant.length === 0 && choices.some(({ type }) => type === 'object')
    if (isList) return { path: [], known: [], isList }
    const found = meant.map((choice) => findUnknown(value, choice, root))
    return found.includes(null) ? null : (found[0] ?? null)
  }
  if (Array.isArray(value)) {
    if (shape.type === 'object') return { path: [], known: [], isList: true }
    for (let index = 0; index < value.length && shape.items !== undefined; index += 1) {
      const unknown = findUnknown(value[index], shape.items, root)
      if (unknown !== null) return { ...unknown, path: [String(index), ...unknown.path] }
    }
    return null
  }
  if (shape.type !== 'object') return null
  const { properties = {}, additionalProperties: more = shape.properties === undefined } = shape
  for (const name of Object.keys(value)) {
    const own = Object.hasOwn(properties, name) ? properties[name]! : more
    if (own === false) return { path: [name], known: Object.keys(properties) }
    const unknown = own === true ? null : findUnknown((value as Record<string, unknown>)[name], own, root)
    if (unknown !== null) return { ...unknown, path: [name, ...unknown.path] }
  }
  return null
}

/** Whether a value can match this member of a union: the types match, and no constant (such as `kind`) differs. */
function mayBe(value: object, choice: Shape): boolean {
  if (choice.type !== undefined && choice.type !== (Array.isArray(value) ? 'array' : 'object')) return false
  return Object.entries(choice.properties ?? {}).every(
    ([name, { const: only }]) =>
      only === undefined || !Object.hasOwn(value, name) || (value as Record<string, unknown>)[name] === only
  )
}
