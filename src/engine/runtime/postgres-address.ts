import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'

export interface PostgresAddress {
  url: string
  name: string
  /** The schema of the tables: one for each namespace. */
  schema: string
  /** Held by the leader of the engines on this database. Absent if this is the only engine. */
  lease?: { holder: string; epoch: number }
}

const NAMESPACE = /^[a-z][a-z0-9_]{0,39}$/

/** Parses `postgres://[user[:password]@]host[:port]/database[?sslmode=…&namespace=…]`. Throws BAD_INPUT. */
export function parsePostgresAddress(text: string, password: string | null = null): PostgresAddress {
  const refuse = (what: string) =>
    new ScrapdeckError('BAD_INPUT', sentence('storage.postgres_address_invalid', { what }))
  if (!URL.canParse(text)) throw refuse('The address of the database is not a URL')
  const url = new URL(text)
  if (!['postgres:', 'postgresql:'].includes(url.protocol)) throw refuse(`A database cannot be at ${url.protocol}`)
  if (url.pathname.length < 2) throw refuse('The address names no database')
  const namespace = url.searchParams.get('namespace') ?? 'scrapdeck'
  if (!NAMESPACE.test(namespace))
    throw refuse(`The namespace ${JSON.stringify(namespace)} is not lower-case letters, digits and _, 40 at most`)
  url.searchParams.delete('namespace')
  if (password !== null) url.password = encodeURIComponent(password)
  const name = `${url.host}${url.pathname}${namespace === 'scrapdeck' ? '' : ` (${namespace})`}`
  return { url: url.href, name, schema: namespace }
}
