import type { z } from 'zod'

type Issue = Parameters<z.core.$ZodErrorMap>[0]

/** The message of a union without a custom message. wire-errors.ts then describes the alternatives instead. */
export const NO_FORM_FITS = 'has none of the accepted forms'

const TYPES: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  null: 'null',
  file: 'a file',
  array: 'a list',
  tuple: 'a list',
  object: 'an object',
  record: 'an object'
}

/** Returns a message for users that follows the name of a rejected field. zod's own messages are for developers. */
export function wordsOfIssue(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is missing' : `must be ${TYPES[issue.expected] ?? issue.expected}`
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${quoted(issue.values[0])}`
        : `must be one of ${issue.values.map(quoted).join(', ')}`
    case 'too_small':
      return lengthOf(issue.origin, Number(issue.minimum), issue.inclusive === false ? 'more than' : 'at least')
    case 'too_big':
      return lengthOf(issue.origin, Number(issue.maximum), issue.inclusive === false ? 'less than' : 'at most')
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_format':
      return issue.format === 'regex' ? `must match ${issue.pattern}` : `must be a valid ${issue.format}`
    case 'unrecognized_keys':
      return `has no field ${issue.keys.map(quoted).join(', ')}`
    case 'invalid_union':
      return NO_FORM_FITS
    case 'invalid_key':
      return 'has a name that is not accepted'
    default:
      return 'is not accepted'
  }
}

function lengthOf(origin: string, bound: number, relation: string): string {
  if (origin === 'string') {
    return relation === 'at least' && bound === 1
      ? 'must not be empty'
      : `must have ${relation} ${plural(bound, 'character')}`
  }
  if (origin === 'array' || origin === 'set' || origin === 'map') {
    return relation === 'at least' && bound === 1
      ? 'must not be empty'
      : `must have ${relation} ${plural(bound, 'entry', 'entries')}`
  }
  if (origin === 'file') return `must have ${relation} ${plural(bound, 'byte')}`
  return `must be ${relation} ${bound}`
}

const quoted = (value: unknown): string => (typeof value === 'string' ? `"${value}"` : String(value))
const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

/** Describes the first problem with its path: `nodes.0 must be text`. A ZodError's own message is JSON. */
export function wordsOfZodError({ issues: [first] }: z.ZodError): string {
  const words = first?.message ?? 'is not accepted'
  return first === undefined || first.path.length === 0 ? words : `${first.path.join('.')} ${words}`
}
