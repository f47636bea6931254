import { z } from 'zod'
import { formatCount } from '../../../shared/numbers.ts'
import { texts } from '../../../shared/texts/ui/shared.ts'

type Issue = Parameters<z.core.$ZodErrorMap>[0]

/** The message for an issue that has none, with the contract's bounds. `say` adds the unit. */
export function wordsOfIssue(issue: Issue, say: (value: number) => string = formatCount) {
  if (issue.code === 'too_small') {
    if (issue.origin === 'array') return texts.chooseAtLeastOne
    return issue.origin === 'string' ? texts.required : texts.atLeast(say(Number(issue.minimum)))
  }
  if (issue.code === 'too_big') {
    const most = say(Number(issue.maximum))
    if (issue.origin === 'string') return texts.atMostCharacters(most)
    return issue.origin === 'array' ? texts.atMostEntries(most) : texts.atMost(most)
  }
  if (issue.code === 'invalid_type') {
    if (issue.expected === 'int') return texts.enterWholeNumber
    return issue.expected === 'number' ? texts.enterNumber : texts.required
  }
  return undefined
}

z.config({ customError: (issue) => wordsOfIssue(issue) })
