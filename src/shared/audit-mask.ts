import { maskCredentials, maskTokens, SECRET_MASK } from './secret-values.ts'

const SECRET_NAME =
  /pass(word|phrase)|pwd|secret|token|credential|cookie|authorization|sealed|hash|signature|dsn|^current$|key$/i
/**
 * Matches fields whose values are all secret, because programs expect passwords in headers and environment variables.
 */
const SECRET_PLACES = /^env$|headers$/i
/** Fields with the named values of a job. `secretNames` lists the names of the secret values. */
const NAMED_PLACES = new Set(['settings', 'args', 'env', 'argSets', 'matrix'])
const WHOLE_FILES = new Set(['yaml', 'requirements', 'ca', 'certificate'])

const TEXT_MAX = 200
const LOOKED_AT_MAX = 4_000
const DEPTH_MAX = 6
/**
 * The maximum length of a path segment that stays visible. Longer segments are often secrets:
 * `hooks.slack.com/services/T0/B0/XXXX`.
 */
const PART_MAX = 20

/** Writes JSON of about `maxLength` characters. `isCut`: whether something was omitted. */
export function writeMasked(value: unknown, maxLength: number): { text: string; isCut: boolean } {
  const budget = { left: maxLength, isCut: false }
  const text = write(value, { budget, depth: 0, names: NO_NAMES, isNamed: false })
  return { text, isCut: budget.isCut }
}

export function maskField(name: string, value: unknown, maxLength: number): string | null {
  if (value === undefined || value === null) return null
  if (SECRET_PLACES.test(name)) return writeMasked({ [name]: value }, maxLength).text.slice(name.length + 4, -1)
  return isSecretValue(name, value) ? JSON.stringify(SECRET_MASK) : writeMasked(value, maxLength).text
}

interface Writing {
  budget: { left: number; isCut: boolean }
  depth: number
  names: ReadonlySet<string>
  isNamed: boolean
}

const NO_NAMES: ReadonlySet<string> = new Set()

function write(value: unknown, writing: Writing): string {
  const { budget, depth } = writing
  if (budget.left <= 0 || depth > DEPTH_MAX) {
    budget.isCut = true
    return '"…"'
  }
  if (typeof value === 'string') return writeText(value, budget)
  if (value === null || value === undefined || typeof value === 'function' || typeof value === 'symbol') return 'null'
  if (typeof value !== 'object') {
    budget.left -= 8
    return typeof value === 'bigint' ? `"${value}"` : (JSON.stringify(value) ?? 'null')
  }
  if (Array.isArray(value)) return writeList(value, writing)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return writeText(`(${describeObject(value)})`, budget)
  return writeObject(value as Record<string, unknown>, writing)
}

function writeList(list: readonly unknown[], writing: Writing): string {
  const parts: string[] = []
  for (const one of list) {
    if (writing.budget.left <= 0) {
      writing.budget.isCut = true
      parts.push(JSON.stringify(`… ${list.length - parts.length} more`))
      break
    }
    parts.push(write(one, { ...writing, depth: writing.depth + 1 }))
  }
  return `[${parts.join(',')}]`
}

function writeObject(object: Record<string, unknown>, writing: Writing): string {
  const { budget, depth } = writing
  const { secretNames } = object
  const names = Array.isArray(secretNames) ? new Set(secretNames as string[]) : writing.names
  const parts: string[] = []
  for (const name in object) {
    if (!Object.hasOwn(object, name)) continue
    if (budget.left <= 0) {
      budget.isCut = true
      break
    }
    const value = object[name]
    if (value === undefined) continue
    const known = fieldOf(name)
    const written = known.text ?? writeText(name, budget)
    if (known.text !== null) budget.left -= known.text.length + 1
    const isSecret = (writing.isNamed && names.has(name)) || (known.isSecret && isNoFigure(value))
    if (isSecret || known.isWholeFile) {
      const size = typeof value === 'string' ? value.length : 0
      parts.push(`${written}:${JSON.stringify(isSecret ? SECRET_MASK : `(${size} characters)`)}`)
    } else if (known.isSecretPlace) parts.push(`${written}:${maskAll(value, budget)}`)
    else {
      const isNamed = writing.isNamed || known.isNamedPlace
      parts.push(`${written}:${write(value, { budget, depth: depth + 1, names, isNamed })}`)
    }
  }
  return `{${parts.join(',')}}`
}

interface Field {
  text: string | null
  isSecret: boolean
  isSecretPlace: boolean
  isNamedPlace: boolean
  isWholeFile: boolean
}

const FIELDS = new Map<string, Field>()
const FIELDS_MAX = 1_000
const PLAIN_NAME = /^[\w.-]{1,40}$/

const fieldOf = (name: string): Field => FIELDS.get(name) ?? lookAt(name)

function lookAt(name: string): Field {
  const field: Field = {
    text: PLAIN_NAME.test(name) && maskTokens(name) === name ? `"${name}"` : null,
    isSecret: name !== 'secretNames' && SECRET_NAME.test(name),
    isSecretPlace: SECRET_PLACES.test(name),
    isNamedPlace: NAMED_PLACES.has(name),
    isWholeFile: WHOLE_FILES.has(name)
  }
  if (FIELDS.size >= FIELDS_MAX) FIELDS.clear()
  if (field.text !== null) FIELDS.set(name, field)
  return field
}

const isSecretValue = (name: string, value: unknown): boolean => fieldOf(name).isSecret && isNoFigure(value)

const isNoFigure = (value: unknown): boolean =>
  value !== null && (typeof value === 'string' || typeof value === 'object')

function maskAll(values: unknown, budget: Writing['budget']): string {
  if (typeof values !== 'object' || values === null || Array.isArray(values)) return JSON.stringify(SECRET_MASK)
  const parts: string[] = []
  for (const name in values) {
    if (budget.left <= 0) {
      budget.isCut = true
      break
    }
    parts.push(`${writeText(name, budget)}:"${SECRET_MASK}"`)
  }
  return `{${parts.join(',')}}`
}

function writeText(text: string, budget: Writing['budget']): string {
  const most = Math.max(0, Math.min(TEXT_MAX, budget.left))
  // Mask before cutting: half an address does not show that it contains a password.
  const masked = maskTokens(maskUrl(text.slice(0, LOOKED_AT_MAX)))
  const isLong = masked.length > most || text.length > LOOKED_AT_MAX
  if (isLong) budget.isCut = true
  const shown = (isLong ? masked.slice(0, most) : masked).toWellFormed()
  budget.left -= shown.length + 3
  return JSON.stringify(isLong ? `${shown}… (${text.length} characters)` : shown)
}

/** Removes the user name, the password, the query, and long parts of the path. */
function maskUrl(text: string): string {
  if (!text.includes('://')) return maskCredentials(text)
  return maskCredentials(text).replace(
    /(:\/\/[^\s/?#]*)([^\s?#]*)([?#]\S*)?/g,
    (_all, host: string, path: string, rest = '') =>
      host +
      path.replaceAll(/[^/]+/g, (part) => (part.length > PART_MAX ? '…' : part)) +
      (rest === '' ? '' : `${(rest as string)[0]}…`)
  )
}

const describeObject = (value: object): string => {
  const { size } = value as { size?: unknown }
  return typeof size === 'number' ? `${value.constructor.name.toLowerCase()}, ${size} bytes` : 'object'
}
