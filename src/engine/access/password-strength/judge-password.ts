import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common'

export interface JudgedPassword {
  password: string
  /** Names of the user and the service, which an attacker knows. */
  names: readonly string[]
}

/**
 * The minimum number of guesses, as estimated by zxcvbn. Two or three words from its list of 30,000 leaked passwords
 * need fewer guesses; three uncommon words need more.
 */
const GUESSES_MIN = 1e13
/**
 * The number of characters to judge. Only the start of a longer password is judged, because the time grows with the
 * square of the length.
 */
const JUDGED_LENGTH = 100

/**
 * Whether an attacker with the usual lists and rules would soon guess the password. Takes up to half a second and 50
 * MB, so call it through password-thread.ts.
 */
export function isGuessable({ password, names }: JudgedPassword): boolean {
  const judge = new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs, maxLength: JUDGED_LENGTH })
  const parts = names.flatMap((name) => [name, ...name.split(/[^\p{L}\p{N}]+/u)]).filter((part) => part.length > 2)
  return judge.check(password, [...new Set(parts)]).guesses < GUESSES_MIN
}
