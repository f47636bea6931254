import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common'

export interface JudgedPassword {
  password: string
  /** What a guesser knows of this user and this service. */
  names: readonly string[]
}

/**
 * Guesses that a password must be worth, by the count of zxcvbn: two or three words of its list of 30,000 leaked
 * passwords are worth less, three uncommon words more.
 */
const GUESSES_MIN = 1e13
/** Only the beginning of a longer password is judged: the time grows with the square of the length. */
const JUDGED_LENGTH = 100

/**
 * Whether an attacker with the usual lists and rules guesses it soon: leaked passwords, alone or in a row, with digits
 * for letters; names; dates; keys beside each other; anything repeated. Takes up to half a second and 50 MB: see
 * password-thread.ts.
 */
export function isGuessable({ password, names }: JudgedPassword): boolean {
  const judge = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs, maxLength: JUDGED_LENGTH })
  // The parts of names, too: of deck.example.org, `example`.
  const parts = names.flatMap((name) => [name, ...name.split(/[^\p{L}\p{N}]+/u)]).filter((part) => part.length > 2)
  return judge.check(password, [...new Set(parts)]).guesses < GUESSES_MIN
}
