import { isDeepStrictEqual } from 'node:util'
import { isNode, LineCounter, parseDocument, stringify } from 'yaml'
import type { z } from 'zod'
import { ScrapdeckError } from '../../shared/errors.ts'
import { FleetForm, type Part, PARTS, PART_NAMES, TEMPLATE_FIELDS } from './form.ts'

/** Enough for hand-written anchors; nested aliases beyond this are an attack. */
const ALIASES_MAX = 1_000
const PROBLEMS_SHOWN = 5
const STYLE = { lineWidth: 0, aliasDuplicateObjects: false }

/** Throws FLEET_FILE_INVALID, naming lines and fields. */
export function readFleetFile(text: string): FleetForm {
  const lines = new LineCounter()
  const document = attempt(() =>
    parseDocument(text, { lineCounter: lines, prettyErrors: false, schema: 'core', uniqueKeys: true, stringKeys: true })
  )
  const [error] = [...document.errors, ...document.warnings]
  if (error !== undefined) refuse([`line ${lines.linePos(error.pos[0]).line}: ${deepOr(error.message)}`])
  const value: unknown = attempt(() => document.toJS({ maxAliasCount: ALIASES_MAX }))
  const form = FleetForm.safeParse(value)
  if (form.success) return form.data
  return refuse(form.error.issues.map((issue) => `${placeOf(issue.path)}${wordsOf(issue)}`))

  function placeOf(path: PropertyKey[]): string {
    const keys = path.map((key) => (typeof key === 'symbol' ? String(key) : key))
    // The nearest ancestor that exists in the file: a missing field has no line.
    for (let length = keys.length; length >= 0; length -= 1) {
      const node = document.getIn(keys.slice(0, length), true)
      if (!isNode(node) || node.range == null) continue
      return `line ${lines.linePos(node.range[0]).line}: ${keys.length === 0 ? 'the file' : pathText(keys)} `
    }
    return keys.length === 0 ? 'the file ' : `${pathText(keys)} `
  }
}

/** The whole form as YAML, without default values. */
export function writeFleetFile(form: FleetForm, heading: string): string {
  const compact: Record<string, unknown> = { version: form.version }
  for (const part of PART_NAMES) {
    const items = form[part]
    if (items !== undefined) compact[part] = items.map((item) => compactItem(part, item))
  }
  return `${heading.replaceAll(/^/gm, '# ')}\n${stringify(compact, STYLE)}`
}

/** One item as it would appear in the file. */
export function compactItem(part: Part, item: object): Record<string, unknown> {
  return withoutDefaults(item, PARTS[part].shape)
}

/** A field's value for a readable diff: one line or a few. */
export function textOfValue(name: string, value: unknown): string {
  return stringify(compactValue(name, value), STYLE).trimEnd()
}

function withoutDefaults(item: object, fields: z.ZodRawShape): Record<string, unknown> {
  // The name comes first, because people look for it.
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
  if (name === 'jobs') return (value as object[]).map((template) => withoutDefaults(template, TEMPLATE_FIELDS))
  return name === 'run' ? withoutDefaults(value as object, TEMPLATE_FIELDS) : value
}

/** The parser itself throws on excessive nesting and too many aliases. */
function attempt<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    return refuse([deepOr((error as Error).message)])
  }
}

export function refuse(problems: string[]): never {
  const shown = problems.slice(0, PROBLEMS_SHOWN).map((problem) => problem.replace(/\.?$/, ''))
  const more = problems.length > shown.length ? `; and ${problems.length - shown.length} more` : ''
  throw new ScrapdeckError(
    'FLEET_FILE_INVALID',
    `The fleet file cannot be applied: ${shown.join('; ')}${more}. Nothing was changed`
  )
}

/** On a stack overflow, the parser either reports it in its own words or throws. */
const deepOr = (message: string): string => (/call stack/.test(message) ? 'it is nested too deeply' : message)

function pathText(keys: (string | number)[]): string {
  return keys
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('')
    .replace(/^\./, '')
}

function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'unrecognized_keys') return `has no field ${issue.keys.map((key) => `"${key}"`).join(', ')}`
  return issue.message.replace(/^Invalid input: /, '')
}
