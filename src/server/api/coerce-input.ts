import { JsonSchemaCoercer } from '@orpc/json-schema'
import type { JSONSchema } from '@orpc/openapi'
import type { AnyProcedure } from '@orpc/server'
import { ZodToJsonSchemaConverter } from '@orpc/zod/zod4'
import type { z } from 'zod'
import type { Coerce } from './long-lists.ts'

const converter = new ZodToJsonSchemaConverter()
const coercer = new JsonSchemaCoercer()
const schemas = new WeakMap<object, Exclude<JSONSchema, boolean>>()

/** For queries, forms and paths, where everything is text: `limit=5`. JSON is treated alike. */
export function coerceFor(procedure: AnyProcedure): Coerce {
  const { inputSchema } = procedure['~orpc']
  if (inputSchema === undefined) return (value) => value
  let schema = schemas.get(inputSchema)
  if (schema === undefined) {
    schema = converter.convert(inputSchema as z.ZodType, { strategy: 'input' })[1]
    schemas.set(inputSchema, schema)
  }
  const whole = schema
  return (value, list) => coercer.coerce(list === undefined ? whole : itemsOf(whole, list), value)
}

function itemsOf({ properties }: Exclude<JSONSchema, boolean>, list: string): JSONSchema {
  const schema = properties?.[list]
  return (typeof schema === 'object' && (schema.items as JSONSchema | undefined)) || {}
}
