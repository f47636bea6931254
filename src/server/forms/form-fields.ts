import type { FastifyRequest } from 'fastify'
import { parseUrlEncoded } from './urlencoded.ts'

/** The values of a urlencoded form that was received as bytes, by name; empty if absent. */
export function fieldsOf(request: FastifyRequest): (name: string) => string {
  const fields = parseUrlEncoded((request.body as Buffer | undefined) ?? Buffer.alloc(0))
  return (name) => fields.get(name)?.[0]?.toString('utf8') ?? ''
}
