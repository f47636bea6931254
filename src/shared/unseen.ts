import { maskTokens } from './secret-values.ts'

const LENGTH_MAX = 64
/**
 * How much of a name is processed. It is more than is shown, so that a token is masked as a whole before the name is
 * cut.
 */
const LOOKED_AT_MAX = 1_000

/** Makes a user name from an unknown client safe for logs: replaces control characters, direction marks and tokens. */
export function readableName(name: string): string {
  const masked = maskTokens(name.slice(0, LOOKED_AT_MAX))
  const shown = masked.slice(0, LENGTH_MAX).toWellFormed()
  return shown.replaceAll(/[^\P{C}]|[\u2028\u2029]/gu, '?') + (masked.length > LENGTH_MAX ? '…' : '')
}

/**
 * Control characters, direction marks, and characters without width can make a name look like another name. Terminals
 * execute some of them.
 */
const DIRECTION = '\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069'
const NO_ROOM =
  '\\u00ad\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b\\u2028\\u2029\\u2060-\\u2065\\u206a-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}'
/** Joiners are part of words in some scripts and of emoji, but next to ASCII characters they are invisible. */
const JOINERS = '(?<=[\\x00-\\x7f]|^)[\\u200c\\u200d]|[\\u200c\\u200d](?=[\\x00-\\x7f]|$)'
const UNSEEN_SOURCE = `[\\x00-\\x1f\\x7f-\\x9f${DIRECTION}${NO_ROOM}]|${JOINERS}`
const UNSEEN = new RegExp(UNSEEN_SOURCE, 'u')
const EVERY_UNSEEN = new RegExp(UNSEEN_SOURCE, 'gu')

/** The first character that keeps a text from being a display name, such as `U+202E`; null: there is none. */
export function unseenIn(text: string): 'control' | `U+${string}` | null {
  const found = UNSEEN.exec(text)
  if (found === null) return null
  const code = found[0].codePointAt(0)!
  return code < 32 || code === 127 ? 'control' : codeOf(code)
}

/** Returns why a text cannot be a display name, worded to follow it ("contains …"), or null. */
export function problemOfShownName(text: string): string | null {
  const character = unseenIn(text)
  if (character === null) return null
  return character === 'control' ? 'contains a control character' : `contains the invisible character ${character}`
}

/** Replaces invisible characters with their code points, such as `U+202E`. */
export function showUnseen(text: string): string {
  return text.replace(EVERY_UNSEEN, (one) => `\u27e8${codeOf(one.codePointAt(0)!)}\u27e9`)
}

const codeOf = (code: number): `U+${string}` => `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
