import { maskTokens } from './secret-values.ts'

const LENGTH_MAX = 64
/** A token is masked whole before the name is cut; nothing reads more than this. */
const LOOKED_AT_MAX = 1_000

/**
 * A user name that an unknown client sent, made safe for logs: no line breaks, terminal sequences or text direction
 * marks, and no token that was sent or typed in place of a name.
 */
export function readableName(name: string): string {
  const masked = maskTokens(name.slice(0, LOOKED_AT_MAX))
  const shown = masked.slice(0, LENGTH_MAX).toWellFormed()
  return shown.replaceAll(/[^\P{C}]|[\u2028\u2029]/gu, '?') + (masked.length > LENGTH_MAX ? '…' : '')
}
