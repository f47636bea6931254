import { getEventIteratorSchemaDetails } from '@orpc/contract'
import type { AnyProcedure } from '@orpc/server'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/server.ts'
import { type Shape, shapeOfSchema } from './unknown-parts.ts'

/** The requested parts of a response as a tree of names. null means everything below this name. */
export type Wanted = Map<string, Wanted | null>

const MAX_TEXT = 2_000
const PATH = /^[A-Za-z0-9_]{1,100}(\.[A-Za-z0-9_]{1,100}){0,9}$/

/**
 * Parses `fields=jobs.id,nextBefore`. In a list, a name refers to each item. Does not check whether the names exist.
 * Throws BAD_INPUT.
 */
export function parseFields(text: string): Wanted {
  const wanted: Wanted = new Map()
  const paths = text.split(',').map((path) => path.trim())
  if (text.length > MAX_TEXT || !paths.every((path) => PATH.test(path))) {
    throw new ScrapdeckError('BAD_INPUT', sentence('server.fields_form'))
  }
  for (const path of paths) add(wanted, path.split('.'))
  return wanted
}

function add(wanted: Wanted, [first, ...rest]: string[]): void {
  const below = wanted.get(first!)
  // The whole part was already requested, including everything below it.
  if (below === null) return
  if (rest.length === 0) return void wanted.set(first!, null)
  const deeper: Wanted = below ?? new Map()
  wanted.set(first!, deeper)
  add(deeper, rest)
}

/** Throws BAD_INPUT for names that the operation's responses can never have. Call this before the operation runs. */
export function checkFields(wanted: Wanted, procedure: AnyProcedure): void {
  const { outputSchema, route } = procedure['~orpc']
  if (outputSchema === undefined || getEventIteratorSchemaDetails(outputSchema) !== undefined) {
    throw noFields()
  }
  const root = shapeOfSchema(outputSchema, 'output')
  const whole = [root]
  check(wanted, route.outputStructure === 'detailed' ? partsOf(whole, root).names.get('body')! : whole, [], root)
}

export function noFields(): ScrapdeckError {
  return new ScrapdeckError('BAD_INPUT', sentence('server.fields_without_response'))
}

function check(wanted: Wanted, schemas: Shape[], path: string[], root: Shape): void {
  const { names, others } = partsOf(schemas, root)
  for (const [name, below] of wanted) {
    const found = names.get(name) ?? others
    if (found === null) {
      const known = [...names.keys()].map((one) => [...path, one].join('.'))
      const words = known.length === 0 ? `"${path.join('.')}" has no parts` : `Known are ${known.join(', ')}`
      const field = [...path, name].join('.')
      throw new ScrapdeckError('BAD_INPUT', sentence('server.no_such_field', { field, words }), {
        data: { field, known }
      })
    }
    if (below !== null) check(below, found, [...path, name], root)
  }
}

/**
 * The property names in these schemas and in the items of lists. `others` has the schemas of properties with any other
 * name, or null if only the listed names are allowed.
 */
function partsOf(schemas: Shape[], root: Shape): { names: Map<string, Shape[]>; others: Shape[] | null } {
  const names = new Map<string, Shape[]>()
  let others: Shape[] | null = null
  const visit = (schema: Shape): void => {
    if (schema.$ref !== undefined)
      return visit(schema.$ref === '#' ? root : root.$defs![schema.$ref.split('/').at(-1)!]!)
    const choices = schema.anyOf ?? schema.oneOf ?? schema.allOf
    if (choices !== undefined) return choices.forEach(visit)
    if (schema.items !== undefined) return visit(schema.items)
    for (const [name, part] of Object.entries(schema.properties ?? {}))
      names.set(name, [...(names.get(name) ?? []), part])
    const { additionalProperties: more = schema.type === undefined } = schema
    if (more !== false) others = [...(others ?? []), more === true ? {} : more]
  }
  schemas.forEach(visit)
  return { names, others }
}

export function pickFields(value: unknown, wanted: Wanted | null): unknown {
  if (wanted === null || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => pickFields(one, wanted))
  return Object.fromEntries(
    [...wanted].flatMap(([name, below]) =>
      Object.hasOwn(value, name) ? [[name, pickFields((value as Record<string, unknown>)[name], below)]] : []
    )
  )
}
