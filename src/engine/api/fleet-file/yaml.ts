import { isDeepStrictEqual } from 'node:util'
import { type Document, isNode, isScalar, LineCounter, parseDocument, stringify, visit } from 'yaml'
import type { z } from 'zod'
import { isScrapdeckError, ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/api.ts'
import { problemOfTree } from '../../../shared/tree-bounds.ts'
import { DEFAULTS_FIELDS, FleetForm, KEEP_FIELDS, type Part, PARTS, PART_NAMES, TEMPLATE_FIELDS } from './form.ts'
import { withoutStop } from '../../../shared/texts/parts.ts'

/** The maximum number of nested aliases. A file with more is an attack. */
const ALIASES_MAX = 1_000
/** The limits of a file: deeper than any valid file, and larger than 4 MB of text can become without aliases. */
const BOUNDS = { depth: 50, size: 10_000_000 }
const PROBLEMS_SHOWN = 5
const LONGEST_KEY = 60
const KINDS_KEPT = new Set(['jobs', 'logs', 'items', 'eggs'])
const STYLE = { lineWidth: 0, aliasDuplicateObjects: false }

/** Throws FLEET_FILE_INVALID, naming lines and fields. Untrusted text is read in a thread (plan-in-thread.ts). */
export function readFleetFile(text: string): FleetForm {
  const lines = new LineCounter()
  const document = attempt(() =>
    // `uniqueKeys` takes quadratic time. See refuseSameKeys.
    parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      schema: 'core',
      uniqueKeys: false,
      stringKeys: true
    })
  )
  const [error] = [...document.errors, ...document.warnings]
  if (error !== undefined) refuse([`line ${lines.linePos(error.pos[0]).line}: ${deepOr(error.message)}`])
  attempt(() => refuseSameKeys(document, (offset) => lines.linePos(offset).line))
  const value: unknown = attempt(() => document.toJS({ maxAliasCount: ALIASES_MAX }))
  const problem = problemOfTree(value, BOUNDS)
  if (problem !== null) refuse([`it ${problem.text}`])
  const form = FleetForm.safeParse(value)
  if (form.success) return form.data
  const { issues } = form.error
  return refuse(issues.map((issue, at) => (at < PROBLEMS_SHOWN ? `${placeOf(issue.path)}${wordsOf(issue)}` : '')))

  function placeOf(path: PropertyKey[]): string {
    const keys = path.map((key) => (typeof key === 'symbol' ? String(key) : key))
    // A missing field has no line, so use the nearest ancestor that exists in the file.
    for (let length = keys.length; length >= 0; length -= 1) {
      const node = document.getIn(keys.slice(0, length), true)
      if (!isNode(node) || node.range == null) continue
      return `line ${lines.linePos(node.range[0]).line}: ${keys.length === 0 ? 'the file' : pathText(keys)} `
    }
    return keys.length === 0 ? 'the file ' : `${pathText(keys)} `
  }
}

export function writeFleetFile(form: FleetForm, heading: string): string {
  const compact: Record<string, unknown> = { version: form.version }
  for (const part of PART_NAMES) {
    const items = form[part]
    if (items === undefined) continue
    const compacted = items.map((item) => compactItem(part, item))
    if (part !== 'retention') compact[part] = compacted
    else if (compacted.length > 0) compact[part] = compacted[0]
  }
  return `${heading.replaceAll(/^/gm, '# ')}\n${stringify(compact, STYLE)}`
}

export function compactItem(part: Part, item: object): Record<string, unknown> {
  return withoutDefaults(item, PARTS[part].shape)
}

export function textOfValue(name: string, value: unknown): string {
  return stringify(compactValue(name, value), STYLE).trimEnd()
}

function withoutDefaults(item: object, fields: z.ZodRawShape): Record<string, unknown> {
  const kept: Record<string, unknown> = 'name' in item ? { name: item.name } : {}
  for (const [name, value] of Object.entries(item)) {
    if (value === undefined) continue
    const standard = (fields[name] as z.ZodType | undefined)?.safeParse(undefined)
    const isStandard = standard?.success === true && isDeepStrictEqual(standard.data, value)
    if (!isStandard) kept[name] = compactValue(name, value)
  }
  return kept
}

function compactValue(name: string, value: unknown): unknown {
  if (name === 'jobs' && Array.isArray(value))
    return (value as object[]).map((template) => withoutDefaults(template, TEMPLATE_FIELDS))
  if (name === 'run') return withoutDefaults(value as object, TEMPLATE_FIELDS)
  if (name === 'defaults') return withoutDefaults(value as object, DEFAULTS_FIELDS)
  if (KINDS_KEPT.has(name)) return withoutDefaults(value as object, KEEP_FIELDS)
  if (name === 'projects') {
    const own = Object.entries(value as object).map(([project, kinds]) => [project, withoutDefaults(kinds, {})])
    return Object.fromEntries(own)
  }
  if (name !== 'spiderDefaults') return value
  const all = Object.entries(value as object).map(([spider, one]) => [spider, withoutDefaults(one, DEFAULTS_FIELDS)])
  return Object.fromEntries(all)
}

function refuseSameKeys(document: Document, lineAt: (offset: number) => number): void {
  visit(document, {
    Map(_key, map) {
      const seen = new Set<unknown>()
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : key
        if (seen.has(name)) {
          const line = isNode(key) && key.range != null ? lineAt(key.range[0]) : 0
          refuse([`line ${line}: Map keys must be unique; "${shortened(String(name))}" is there twice`])
        }
        seen.add(name)
      }
    }
  })
}

function attempt<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (isScrapdeckError(error)) throw error
    return refuse([deepOr((error as Error).message)])
  }
}

export function refuse(problems: string[]): never {
  const shown = problems.slice(0, PROBLEMS_SHOWN).map(withoutStop)
  const more = problems.length > shown.length ? `; and ${problems.length - shown.length} more` : ''
  throw new ScrapdeckError('FLEET_FILE_INVALID', sentence('api.fleet_file_not_valid', { shown, more }))
}

/** On a stack overflow, the parser either reports it in its own words or throws. */
const deepOr = (message: string): string => (/call stack/.test(message) ? 'it is nested too deeply' : message)

function pathText(keys: (string | number)[]): string {
  return keys
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${shortened(key)}`))
    .join('')
    .replace(/^\./, '')
}

function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') {
    const { keys } = issue
    const shown = keys.slice(0, PROBLEMS_SHOWN).map((key) => `"${shortened(key)}"`)
    return `has no field ${shown.join(', ')}${keys.length > shown.length ? ` and ${keys.length - shown.length} more` : ''}`
  }
  return issue.message
}

const shortened = (text: string) => (text.length > LONGEST_KEY ? `${text.slice(0, LONGEST_KEY)}…` : text)
