import { z } from 'zod'

/** A JSON schema, as far as it says which parts a value has. */
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

// By side: what a schema takes and what it gives need not be the same.
const shapes = { input: new WeakMap<object, Shape>(), output: new WeakMap<object, Shape>() }

/** Of a zod schema of the contract; made once. */
export function shapeOfSchema(schema: object, side: 'input' | 'output'): Shape {
  let shape = shapes[side].get(schema)
  if (shape === undefined) {
    shape = z.toJSONSchema(schema as z.ZodType, { io: side, unrepresentable: 'any' }) as Shape
    shapes[side].set(schema, shape)
  }
  return shape
}
