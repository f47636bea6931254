import { z } from 'zod'
import { formatDuration } from '../../../shared/time.ts'
import { wordsOfIssue } from './issue-words.ts'
import { parseDuration } from './run-limits.ts'
import { texts as words } from '../../../shared/texts/ui/shared.ts'

/**
 * A schema for a text field. It applies the contract's schema and reports its bounds. An empty text means `whenEmpty`.
 */
function textOf<Value, Typed>(
  of: z.ZodType<Value>,
  whenEmpty: unknown,
  parse: (typed: string) => { value: unknown } | { problem: string },
  say?: (value: number) => string
) {
  return z.custom<Typed>().transform((typed, context): Value => {
    const text = String(typed).trim()
    const parsed = text !== '' || whenEmpty === undefined ? parse(text) : { value: whenEmpty }
    const read = 'problem' in parsed ? null : of.safeParse(parsed.value, { error: (issue) => wordsOfIssue(issue, say) })
    if (read?.success) return read.data
    const message = 'problem' in parsed ? parsed.problem : (read?.error?.issues[0]?.message ?? '')
    context.issues.push({ code: 'custom', message, input: typed })
    return z.NEVER
  })
}

/** A duration such as `1 h 30 min`, in seconds. */
export const durationText = <Value>(of: z.ZodType<Value>, whenEmpty: number | null | undefined = undefined) =>
  textOf<Value, string>(of, whenEmpty, parseDuration, formatDuration)

/** A number in a text field, or in a number field, which holds '' while it is empty. */
export const numberText = <Value>(of: z.ZodType<Value>, whenEmpty: number | null | undefined = undefined) =>
  textOf<Value, string | number>(of, whenEmpty, (text) => ({ value: text === '' ? Number.NaN : Number(text) }))

export const formBy = <Output, Texts>(choose: (texts: Texts) => z.ZodType<Output>) =>
  z.custom<Texts>().transform((texts, context): Output => {
    const read = choose(texts).safeParse(texts)
    if (read.success) return read.data
    for (const { path, message } of read.error.issues)
      context.issues.push({ code: 'custom', path, message, input: texts })
    return z.NEVER
  })

export const textOrNull = z.string().transform((text) => text.trim() || null)

/** A path on the service's machine, whose operating system can differ from that of this page's machine. */
export const absolutePath = z
  .string()
  .trim()
  .min(1, words.enterPath)
  .regex(/^(\/|[A-Za-z]:[\\/]|\\\\)/, words.enterAbsolutePath)

export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
