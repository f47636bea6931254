import fc from 'fast-check'
import { isContractProcedure, type AnyContractProcedure } from '@orpc/contract'
import { exampleOf } from '../../../src/shared/examples/operations.ts'
import { contract } from '../../../src/shared/contract/index.ts'
import type { Attack } from '../attack.ts'
import type { Got, Sent } from '../attacker.ts'

interface Hostile {
  name: string
  value: unknown
}

const deep = (depth: number): unknown => {
  let value: unknown = 'x'
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const HOSTILE: Hostile[] = [
  { name: 'a string of 1 MB', value: 'x'.repeat(1_000_000) },
  { name: 'a string of 200 KB of escapes', value: '\u001b[31m\u009b'.repeat(40_000) },
  { name: 'lone surrogates', value: '\ud800'.repeat(10_000) },
  { name: 'NUL bytes', value: '\0'.repeat(10_000) },
  { name: 'bidi controls', value: '\u202eabc\u2066\u200f' },
  { name: 'a path', value: '../../../../etc/passwd' },
  { name: 'a pattern that backtracks', value: `${'a'.repeat(50_000)}!` },
  { name: 'many stars', value: '*'.repeat(5_000) },
  { name: 'a template', value: '{{{{}}}}{nominal}'.repeat(2_000) },
  { name: 'a cron of many fields', value: `${'*/1,'.repeat(20_000)}1 * * * *` },
  { name: 'a date far away', value: '+275760-09-13T00:00:00.000Z' },
  { name: '100,000 items', value: Array(100_000).fill('x') },
  { name: '100,000 equal objects', value: Array(100_000).fill({}) },
  { name: '50,000 keys', value: Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`k${index}`, 1])) },
  { name: 'keys of the prototype', value: JSON.parse('{"__proto__":{"a":1},"constructor":{"prototype":1}}') },
  { name: 'depth 60', value: deep(60) },
  { name: 'depth 3,000', value: deep(3_000) },
  { name: 'a negative number', value: -1 },
  { name: 'a number beyond all', value: 1e308 },
  { name: 'a number beyond integers', value: 2 ** 63 },
  { name: 'null', value: null },
  { name: 'true', value: true },
  { name: 'an empty string', value: '' },
  { name: 'an empty object', value: {} }
]

const operations = Object.entries(contract).flatMap(([noun, verbs]): [string, AnyContractProcedure][] =>
  isContractProcedure(verbs)
    ? [[noun, verbs]]
    : Object.entries(verbs).map(([verb, procedure]) => [`${noun}.${verb}`, procedure])
)
// Leaves out streams, because they never end, and forms, because they have their own attacks.
const callable = operations.filter(
  ([name]) => !['projects.upload', 'logs.tail', 'events.subscribe', 'jobs.logs'].includes(name)
)

const FIELDS = ['project', 'spider', 'version', '_version', 'jobid', 'job', 'signal', 'priority', 'setting', 'egg', 'x']
const ENDPOINTS = [
  'daemonstatus',
  'addversion',
  'schedule',
  'cancel',
  'listprojects',
  'listversions',
  'listspiders',
  'listjobs',
  'status',
  'delversion',
  'delproject'
]
const TYPES = [
  'application/json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'multipart/form-data',
  'multipart/form-data; boundary=' + 'x'.repeat(5_000),
  'text/plain',
  'application/xml',
  ''
]

function pathsIn(value: unknown, path: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [path]
  return [path, ...Object.entries(value).flatMap(([key, part]) => pathsIn(part, [...path, key]))]
}

function spoil(value: unknown, [first, ...rest]: string[], hostile: unknown): unknown {
  if (first === undefined) return hostile
  if (Array.isArray(value))
    return value.map((part: unknown, index) => (String(index) === first ? spoil(part, rest, hostile) : part))
  return { ...(value as object), [first]: spoil((value as Record<string, unknown>)[first], rest, hostile) }
}

interface Variant {
  name: string
  sent: Sent
}

const JSON_TYPE = { 'content-type': 'application/json' }

const operationVariant: fc.Arbitrary<Variant> = fc
  .tuple(
    fc.constantFrom(...callable),
    fc.constantFrom(...HOSTILE),
    fc.constantFrom('rest', 'json-rpc', 'rpc'),
    fc.nat()
  )
  .map(([[name, procedure], hostile, door, which]) => {
    const example = (exampleOf(name)?.input ?? {}) as Record<string, unknown>
    const paths = pathsIn(example)
    const path = paths[which % paths.length]!
    const input = spoil(example, path, hostile.value)
    const what = `${name} over ${door} with ${hostile.name} as ${path.join('.') || 'its input'}`
    if (door === 'json-rpc') {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params: input })
      return { name: what, sent: { method: 'POST', path: '/api/v1/jsonrpc', headers: JSON_TYPE, body } }
    }
    if (door === 'rpc') {
      const address = `/api/rpc/${name.replace('.', '/')}`
      return {
        name: what,
        sent: { method: 'POST', path: address, headers: JSON_TYPE, body: JSON.stringify({ json: input }) }
      }
    }
    return { name: what, sent: restRequest(procedure, input) }
  })

/** The maximum length of a query. Node limits the head of a request to 16 KB and refuses longer ones. */
const MAX_QUERY = 12_000

function restRequest({ '~orpc': { route } }: AnyContractProcedure, input: unknown): Sent {
  const { method = 'POST', path = '' } = route as { method?: string; path?: string }
  const values = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : { input }
  const text = (value: unknown) =>
    encodeURIComponent(
      (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).toWellFormed().slice(0, MAX_QUERY / 4)
    ).slice(0, MAX_QUERY)
  const address = `/api/v1${path.replace(/\{(\w+)\}/g, (_whole, name: string) => text(values[name] ?? 'x') || 'x')}`
  if (method === 'GET' || method === 'DELETE') {
    const query = Object.entries(values)
      .slice(0, 200)
      .map(([name, value]) => `${text(name)}=${text(value)}`)
      .join('&')
      .slice(0, MAX_QUERY)
    return { method, path: query === '' ? address : `${address}?${query}` }
  }
  return { method, path: address, headers: JSON_TYPE, body: JSON.stringify(input) ?? 'null' }
}

const scrapydVariant: fc.Arbitrary<Variant> = fc
  .tuple(
    fc.constantFrom(...ENDPOINTS),
    fc.constantFrom(...FIELDS),
    fc.constantFrom(...HOSTILE),
    fc.constantFrom(...TYPES),
    fc.constantFrom('GET', 'POST', 'POST', 'PUT', 'HEAD', 'PATCH'),
    fc.constantFrom(1, 2, 3_000)
  )
  .map(([endpoint, field, hostile, type, method, times]) => {
    const name = `${method} ${endpoint}.json as ${type.slice(0, 40) || 'no type'} with ${hostile.name} as ${field}, ${times} times`
    const text = typeof hostile.value === 'string' ? hostile.value.toWellFormed() : JSON.stringify(hostile.value)
    const pair = `${field}=${encodeURIComponent(text.slice(0, times === 1 ? 400_000 : 300))}`
    const query = `project=demo&spider=quotes&${Array(times).fill(pair).join('&')}`
    const headers: Record<string, string> = type === '' ? {} : { 'content-type': type }
    if (method === 'GET' || method === 'HEAD')
      return { name, sent: { method, path: `/${endpoint}.json?${query.slice(0, MAX_QUERY)}`, headers } }
    const part = `--x\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${text}\r\n`
    const body = type.startsWith('multipart')
      ? `${part.repeat(Math.min(times, 300)).slice(0, 3_000_000)}--x--\r\n`
      : type === 'application/json'
        ? JSON.stringify({ [field]: hostile.value })
        : query
    return { name, sent: { method, path: `/${endpoint}.json`, headers, body } }
  })

/** Paths of files and pages, in encodings that routers interpret differently. */
const pathVariant: fc.Arbitrary<Variant> = fc
  .tuple(
    fc.constantFrom('/logs/', '/items/', '/ui/', '/docs/', '/api/v1/', '/api/', '/health/', '/', '/jobs/', '/metrics/'),
    fc.array(
      fc.constantFrom(
        '..',
        '.',
        '%2e%2e',
        '%252e',
        '%00',
        '%ff',
        '%',
        'demo',
        'quotes',
        'a'.repeat(300),
        '\\',
        ';',
        '%5c',
        '~',
        'x?y=1',
        '#',
        '%0d%0aX:%20y'
      ),
      { minLength: 1, maxLength: 12 }
    ),
    fc.constantFrom('/', '//', '%2f')
  )
  .map(([prefix, segments, separator]) => ({
    name: `GET ${prefix}${segments.join(separator)}`.slice(0, 150),
    sent: { path: `${prefix}${segments.join(separator)}` }
  }))

export function generateAttacks(count: number, seed: number): Attack[] {
  const any = fc.oneof(
    { weight: 6, arbitrary: operationVariant },
    { weight: 3, arbitrary: scrapydVariant },
    { weight: 1, arbitrary: pathVariant }
  )
  return fc.sample(any, { numRuns: count, seed }).map(
    ({ name, sent }): Attack => ({
      name,
      door: sent.path.startsWith('/api/') ? 'rest' : 'scrapyd',
      run: async ({ attacker }) => judge(await attacker.send(sent))
    })
  )
}

/** Returns complaints about a response. 501 (unknown method) and 502 (unreachable node) are valid. */
function judge({ status, body }: Got): string[] {
  if (/root:.*:0:0:/.test(body)) return ['a file of the system came back']
  return status >= 500 && status !== 501 && status !== 502 ? [`answered ${status}: ${body.slice(0, 200)}`] : []
}
