import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'
import type { Sentence } from '../shared/texts/sentence.ts'
import { maskCredentials } from '../shared/secret-values.ts'

/**
 * scrapyd-client replaces all environment variables in scrapy.cfg, so someone else's project can send any secret to its
 * own address. Here, a value is sent only to an address that belongs to the user.
 */
type Environment = Record<string, string | undefined>

export interface WrittenValue {
  key: string
  text: string
  /** Whether the value is in the user's own files, not only in the project's file. */
  isOwn: boolean
}

/** `$NAME` and `${NAME}`, as in Python's os.path.expandvars. */
const VARIABLE = /\$(?:(\w+)|\{([^}]*)\})/g
/** A variable as a whole address, optionally with a path, so that its value cannot become part of a host name. */
const WHOLE_ADDRESS = /^\$(?:(\w+)|\{([^}]*)\})((?:\/[^$]*)?)$/

/**
 * Replaces the variable in an address. In a project's file, an address must be a whole variable (optionally with a
 * path) or contain none, because a host or path built from a value would reveal it. Throws BAD_INPUT, without values in
 * the message.
 */
export function expandAddress({ text, isOwn }: WrittenValue, environment: Environment): string {
  const known = namesIn(text, environment)
  if (known.length === 0) return text
  if (!isOwn && !WHOLE_ADDRESS.test(text)) {
    throw new ScrapdeckError('BAD_INPUT', sentence('cli.address_partly_from_variable', { text: maskCredentials(text) }))
  }
  const address = replaceVariables(text, environment)
  if (/^https?:$/.test(URL.parse(address)?.protocol ?? '')) return address
  throw new ScrapdeckError(
    'BAD_INPUT',
    sentence('cli.address_not_in_scrapy_cfg', { text: maskCredentials(text), known: known[0] })
  )
}

/**
 * Replaces variables. Returns the value and the variables' names. Unset variables stay unchanged, as in scrapyd-client.
 * `NAME_PASSWORD` belongs to the address in `NAME_URL`. If there is no `NAME_URL`, a variable is used only if the user
 * agreed to it, and Scrapdeck's own variables are never used. Throws UNAUTHORIZED for a variable that must not be used.
 */
export function expandValue(
  { key, text }: WrittenValue,
  { address, environment, isAgreed }: { address: string; environment: Environment; isAgreed: boolean }
): { value: string; names: string[] } {
  const names = namesIn(text, environment)
  for (const name of names) {
    const addressName = `${name.replace(/_[^_]*$/, '')}_URL`
    const belongsTo = environment[addressName] || null
    if (belongsTo !== null && originOf(belongsTo) === originOf(address)) continue
    const isBound = belongsTo !== null || name.startsWith('SCRAPDECK_')
    if (!isBound && isAgreed) continue
    throw new ScrapdeckError('UNAUTHORIZED', describeRefusal({ name, addressName, belongsTo, isBound, key, address }))
  }
  return { value: replaceVariables(text, environment), names }
}

function describeRefusal(
  refused: { name: string; addressName: string; belongsTo: string | null; isBound: boolean } & {
    key: string
    address: string
  }
): Sentence {
  const { belongsTo, isBound, ...of } = refused
  if (belongsTo !== null) {
    return sentence('cli.variable_of_another_address', { ...of, belongsTo: maskCredentials(belongsTo) })
  }
  return sentence(isBound ? 'cli.variable_without_address' : 'cli.variable_to_address_in_file', of)
}

function namesIn(text: string, environment: Environment): string[] {
  return [...text.matchAll(VARIABLE)]
    .map(([, plain, braced]) => plain ?? braced ?? '')
    .filter((name) => environment[name] !== undefined)
}

function replaceVariables(text: string, environment: Environment): string {
  return text.replaceAll(
    VARIABLE,
    (whole, plain: string | undefined, braced: string | undefined) => environment[plain ?? braced ?? ''] ?? whole
  )
}

const originOf = (address: string): string | undefined => URL.parse(address)?.origin
