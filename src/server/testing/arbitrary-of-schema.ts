import fc from 'fast-check'

export interface JsonSchema {
  $ref?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  type?: string | string[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  additionalProperties?: JsonSchema | boolean
  propertyNames?: JsonSchema
  items?: JsonSchema
  minItems?: number
  maxItems?: number
  pattern?: string
  format?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  exclusiveMinimum?: number
  maximum?: number
}

export interface Known {
  ids: string[]
  names: string[]
  cursors: Record<string, unknown[]>
  /** Values by the name of the input property, so that most requests get past validation and lookup. */
  parts: Record<string, unknown[]>
}

const MANY = 4

/**
 * Generates values of the schema. Strings include control characters, lone surrogates and characters that break paths
 * and queries.
 */
export function arbitraryOf(
  schema: JsonSchema,
  known: Known,
  resolve: (reference: string) => JsonSchema
): fc.Arbitrary<unknown> {
  const of = (part: JsonSchema) => arbitraryOf(part, known, resolve)
  if (schema.$ref !== undefined) return of(resolve(schema.$ref))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return fc.oneof(...choices.map(of))
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => of({ ...schema, type })))
  switch (schema.type) {
    case 'object':
      return arbitraryObject(schema, known, of)
    case 'array': {
      const minLength = schema.minItems ?? 0
      return fc.array(of(schema.items ?? {}), {
        minLength,
        maxLength: Math.min(schema.maxItems ?? MANY, minLength + MANY)
      })
    }
    case 'string':
      return arbitraryString(schema, known)
    case 'integer': {
      const { minimum = schema.exclusiveMinimum === undefined ? undefined : schema.exclusiveMinimum + 1 } = schema
      return fc.oneof(
        fc.integer({ min: Math.max(minimum ?? -1e6, -2e9), max: Math.min(schema.maximum ?? 1e6, 2e9) }),
        fc.constantFrom(...[minimum ?? 0, schema.maximum ?? 0].filter(Number.isSafeInteger))
      )
    }
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e9, max: schema.maximum ?? 1e9, noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    default:
      return fc.jsonValue({ maxDepth: 1 })
  }
}

function arbitraryObject(
  schema: JsonSchema,
  known: Known,
  of: (part: JsonSchema) => fc.Arbitrary<unknown>
): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema
  const shape = Object.fromEntries(
    Object.entries(properties).map(([name, part]) => [name, orKnown(of(part), known.parts[name])])
  )
  // Each optional property can cause a rejection, so half of the values have only the required properties.
  const few = fc.record(Object.fromEntries(required.map((name) => [name, shape[name] ?? of({})])))
  const own = fc.oneof(few, fc.record(shape, { requiredKeys: required }))
  if (typeof additionalProperties !== 'object') return own
  const keys = of(schema.propertyNames ?? { type: 'string', minLength: 1, maxLength: 20 }) as fc.Arbitrary<string>
  const others = fc.dictionary(keys, of(additionalProperties), { maxKeys: 3 })
  return fc.tuple(others, own).map(([rest, those]) => ({ ...rest, ...(those as object) }))
}

export function orKnown(made: fc.Arbitrary<unknown>, known: unknown[] = []): fc.Arbitrary<unknown> {
  return known.length === 0 ? made : fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, made)
}

const NASTY = [
  '../x',
  'a/b?c#d',
  '%00',
  '\0',
  '__proto__',
  'constructor',
  '\ud800',
  '🦊',
  "'; --",
  '*',
  ' ',
  '{nominal}',
  '{'
]

function arbitraryString(
  { pattern, format, minLength = 0, maxLength = 30 }: JsonSchema,
  known: Known
): fc.Arbitrary<string> {
  if (format === 'date-time') {
    return fc
      .date({ noInvalidDate: true, min: new Date('1971-01-01'), max: new Date('2999-01-01') })
      .map((date) => date.toISOString())
  }
  if (pattern !== undefined) {
    const free = fc.stringMatching(new RegExp(pattern))
    const there = known.ids.filter((id) => new RegExp(pattern).test(id))
    return there.length === 0 ? free : fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...there) }, free)
  }
  const fits = (text: string) => text.length >= minLength && text.length <= maxLength
  return fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...known.names.filter(fits), 'x'.repeat(minLength)) },
    fc.constantFrom(...NASTY.filter(fits), 'y'.repeat(minLength)),
    fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, minLength + 30) })
  )
}

/** Returns names of parts of a response, two levels deep: `jobs`, `jobs.id`… */
export function fieldsOf(schema: JsonSchema, resolve: (reference: string) => JsonSchema, deep = 1): string[] {
  if (schema.$ref !== undefined) return fieldsOf(resolve(schema.$ref), resolve, deep)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return choices.flatMap((one) => fieldsOf(one, resolve, deep))
  if (schema.items !== undefined) return fieldsOf(schema.items, resolve, deep)
  return Object.entries(schema.properties ?? {}).flatMap(([name, part]) => [
    name,
    ...(deep === 0 ? [] : fieldsOf(part, resolve, deep - 1).map((below) => `${name}.${below}`))
  ])
}

/** Replaces one part of the value, like a buggy client. */
export function spoiled(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.tuple(value, fc.jsonValue({ maxDepth: 2 }), fc.nat()).map(([whole, other, at]) => {
    const places = leavesOf(whole)
    const path = places[at % places.length]!
    return replaceAt(whole, path, other)
  })
}

function leavesOf(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, part]) => leavesOf(part, [...path, key]))]
}

function replaceAt(value: unknown, [first, ...rest]: string[], other: unknown): unknown {
  if (first === undefined) return other
  const part = replaceAt((value as Record<string, unknown>)[first], rest, other)
  if (Array.isArray(value)) return value.map((one, index) => (String(index) === first ? part : one))
  return { ...(value as object), [first]: part }
}
