import { ERROR_CODES, type ErrorCode } from '../../shared/errors.ts'
import { texts } from '../../shared/texts/ui/shared.ts'
import { texts as titles } from '../../shared/texts/ui/error-titles.ts'

export interface Explanation {
  code: ErrorCode | null
  title: string
  /** What happened, what it affects, and what the user can do about it. */
  text: string
}

export function explainError(error: unknown): Explanation {
  const code = codeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  if (code !== null) return { code, title: titles[`title.${code}`], text: message }
  if (error instanceof TypeError && /fetch|network|load failed/i.test(message)) {
    return {
      code: null,
      title: texts.engineDoesNotRespond,
      text: texts.engineDoesNotRespondHint
    }
  }
  return {
    code: null,
    title: texts.somethingWentWrong,
    text: message || texts.unknownErrorHint
  }
}

function codeOf(error: unknown): ErrorCode | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null
  const code = String(error.code)
  return Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : null
}
