export const SECRET_MASK = '\u2022\u2022\u2022\u2022\u2022\u2022'

type Named<Value> = Record<string, Value>

interface Values {
  settings?: Named<string> | undefined
  args?: Named<string> | undefined
  env?: Named<string> | undefined
  argSets?: readonly Named<string>[] | undefined
  matrix?: Named<readonly string[]> | undefined
  secretNames?: readonly string[] | undefined
}

/**
 * Returns the replacement for a secret value. `place` is the value's position, such as `argSets 0:token`, which is the
 * same in every copy of the values.
 */
type Replace = (value: string, place: string) => string

export function maskSecrets<T extends Values>(values: T, mask = SECRET_MASK): T {
  return withSecrets(values, () => mask)
}

export function withSecrets<T extends Values>(values: T, replace: Replace): T {
  const { settings, args, env, argSets, matrix, secretNames = [] } = values
  if (secretNames.length === 0) return values
  const names = new Set(secretNames)
  const each = <Value>(given: Named<Value>, change: (value: Value, name: string) => Value): Named<Value> =>
    Object.fromEntries(
      Object.entries(given).map(([name, value]) => [name, names.has(name) ? change(value, name) : value])
    )
  const single = (given: Named<string>, where: string) =>
    each(given, (value, name) => replace(value, `${where}:${name}`))
  return {
    ...values,
    ...(settings && { settings: single(settings, 'settings') }),
    ...(args && { args: single(args, 'args') }),
    ...(env && { env: single(env, 'env') }),
    ...(argSets && { argSets: argSets.map((set, index) => single(set, `argSets ${index}`)) }),
    ...(matrix && {
      matrix: each(matrix, (all, name) => all.map((value, index) => replace(value, `matrix ${index}:${name}`)))
    })
  }
}

export function secretValues({ settings, args, env, argSets = [], matrix = {}, secretNames = [] }: Values): string[] {
  const records = [settings ?? {}, args ?? {}, env ?? {}, ...argSets, matrix]
  const values = secretNames.flatMap((name) =>
    records.filter((one) => Object.hasOwn(one, name)).flatMap((one) => one[name]!)
  )
  return [...new Set(values)]
}

/** The prefix of all our tokens, by which scanners find leaked tokens. Passwords do not start with it. */
export const TOKEN_PREFIX = 'sdk_'
/** Matches any token at the start of a text. Elsewhere, matches only tokens that are long enough to be valid. */
const OUR_TOKENS = new RegExp(`^\\s*${TOKEN_PREFIX}\\S*|${TOKEN_PREFIX}[\\w-]{12,}\\S*`, 'gi')
const SIGNED_TOKENS = /eyJ[\w-]{10,}\.[\w-]{10,}\S*/g
const CREDENTIALS = /\b(bearer|basic)[\s:=]+[^\s"',;]+/gi

/** Matches most names and ids. These cannot contain a token or be part of an address. */
const PLAIN_WORD = new RegExp(`^(?!.*(?:${TOKEN_PREFIX}|eyJ))[\\w.-]{0,64}$`, 'i')

/** Replaces tokens (valid, mistyped or signed) and the text after `Bearer` or `Basic`, anywhere in a text. */
export function maskTokens(text: string): string {
  if (PLAIN_WORD.test(text)) return text
  return text
    .replace(CREDENTIALS, `$1 ${SECRET_MASK}`)
    .replace(OUR_TOKENS, SECRET_MASK)
    .replace(SIGNED_TOKENS, SECRET_MASK)
}

/**
 * Replaces the user name and password in every address in a text: `redis://:secret@host/0`. A password can contain `/`
 * and `@`, so everything up to the last `@` of a word is masked if it can be a password.
 */
export function maskCredentials(text: string): string {
  if (PLAIN_WORD.test(text)) return text
  return text.replace(/\S+/g, maskWord)
}

function maskWord(word: string): string {
  const at = word.lastIndexOf('@')
  const scheme = word.indexOf('://')
  const start = scheme === -1 || scheme > at ? 0 : scheme + 3
  // Without a colon, there is at most a token before the host, but no password. A path can contain `@`.
  if (word.slice(start, at + 1).includes(':')) return `${word.slice(0, start)}***${word.slice(at)}`
  return word.replace(/:\/\/[^/]+@/, '://***@')
}
