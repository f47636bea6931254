import { ScrapdeckError } from '../../shared/errors.ts'

/** A part of an answer: names below each other; null: whatever is there. */
type Wanted = Map<string, Wanted | null>

const MAX_TEXT = 2_000
const PATH = /^[A-Za-z0-9_]{1,100}(\.[A-Za-z0-9_]{1,100}){0,9}$/

/**
 * `fields=jobs.id,jobs.status,nextBefore`: only these parts of an answer. Names go through lists; one that an answer does not have is not
 * in it. Throws BAD_INPUT.
 */
export function parseFields(text: string): Wanted {
  const wanted: Wanted = new Map()
  const paths = text.split(',').map((path) => path.trim())
  if (text.length > MAX_TEXT || !paths.every((path) => PATH.test(path))) {
    throw new ScrapdeckError(
      'BAD_INPUT',
      '"fields" takes names with dots between, and commas: fields=jobs.id,jobs.status'
    )
  }
  for (const path of paths) add(wanted, path.split('.'))
  return wanted
}

function add(wanted: Wanted, [first, ...rest]: string[]): void {
  const below = wanted.get(first!)
  // Whoever asks for the whole and a part gets the whole.
  if (below === null) return
  if (rest.length === 0) return void wanted.set(first!, null)
  const deeper: Wanted = below ?? new Map()
  wanted.set(first!, deeper)
  add(deeper, rest)
}

export function pickFields(value: unknown, wanted: Wanted | null): unknown {
  if (wanted === null || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => pickFields(one, wanted))
  return Object.fromEntries(
    [...wanted].flatMap(([name, below]) =>
      Object.hasOwn(value, name) ? [[name, pickFields((value as Record<string, unknown>)[name], below)]] : []
    )
  )
}
