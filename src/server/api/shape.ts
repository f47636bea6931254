import { z } from 'zod'

/** The part of a JSON schema that says which properties a value has. */
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

// By side: what a schema accepts and what it returns can differ.
const shapes = { input: new WeakMap<object, Shape>(), output: new WeakMap<object, Shape>() }

/** The shape of a zod schema of the contract; computed once. */
export function shapeOfSchema(schema: object, side: 'input' | 'output'): Shape {
  let shape = shapes[side].get(schema)
  if (shape === undefined) {
    shape = z.toJSONSchema(schema as z.ZodType, { io: side, unrepresentable: 'any' }) as Shape
    shapes[side].set(schema, shape)
  }
  return shape
}
