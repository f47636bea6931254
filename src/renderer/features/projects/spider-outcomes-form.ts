import { z } from 'zod'
import { OutcomeRules } from '../../../shared/contract/index.ts'
import { numberText } from '../../ui/fields/texts.ts'
import { namesOf } from './settings-form.ts'

/** Empty: inherited from the project. `none`: no rule, even if the project has one. */
export interface SpiderOutcomeTexts {
  requireResponse: string
  maxErrors: string
  minItems: string
  minPages: string
  finishReasons: string
}

const rules = OutcomeRules.shape
export const NONE = 'none'
export const ON = 'on'

function ownRule<Value>(of: z.ZodType<Value, never>) {
  return z.string().transform((text, context): Value | null | undefined => {
    if (text.trim() === '') return undefined
    if (text.trim().toLowerCase() === NONE) return null
    const read = of.safeParse(text)
    if (read.success) return read.data
    context.issues.push({ code: 'custom', message: read.error.issues[0]!.message, input: text })
    return z.NEVER
  })
}

export const SpiderOutcomeForm = z
  .object({
    requireResponse: ownRule(z.literal(ON).transform(() => true) as never),
    maxErrors: ownRule(numberText(rules.maxErrors) as never),
    minItems: ownRule(numberText(rules.minItems) as never),
    minPages: ownRule(numberText(rules.minPages) as never),
    finishReasons: ownRule(z.string().transform(namesOf).pipe(rules.finishReasons.unwrap()) as never)
  })
  .transform((texts): OutcomeRules | null => {
    const own = Object.entries(texts).filter(([, value]) => value !== undefined)
    return own.length === 0 ? null : Object.fromEntries(own)
  }) as never as z.ZodType<OutcomeRules | null, SpiderOutcomeTexts>

export function spiderOutcomeTexts(own: OutcomeRules | undefined): SpiderOutcomeTexts {
  const textOf = (value: number | readonly string[] | null | undefined) =>
    value === undefined ? '' : value === null ? NONE : typeof value === 'number' ? String(value) : value.join(', ')
  return {
    requireResponse: own?.requireResponse === undefined ? '' : own.requireResponse === true ? ON : NONE,
    maxErrors: textOf(own?.maxErrors),
    minItems: textOf(own?.minItems),
    minPages: textOf(own?.minPages),
    finishReasons: textOf(own?.finishReasons)
  }
}
