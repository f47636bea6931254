import { z } from 'zod'

type Issue = Parameters<z.core.$ZodErrorMap>[0]

/** The message for a field whose schema has none of its own; bounds are the contract's. `say` adds the unit. */
export function wordsOfIssue(issue: Issue, say: (value: number) => string = (value) => value.toLocaleString('en')) {
  if (issue.code === 'too_small') {
    if (issue.origin === 'array') return 'Choose at least one'
    return issue.origin === 'string' ? 'Required' : `At least ${say(Number(issue.minimum))}`
  }
  if (issue.code === 'too_big') {
    const most = `At most ${say(Number(issue.maximum))}`
    return issue.origin === 'string' ? `${most} characters` : issue.origin === 'array' ? `${most} entries` : most
  }
  if (issue.code === 'invalid_type') {
    if (issue.expected === 'int') return 'Enter a whole number'
    return issue.expected === 'number' ? 'Enter a number' : 'Required'
  }
  return undefined
}

z.config({ customError: (issue) => wordsOfIssue(issue) })
