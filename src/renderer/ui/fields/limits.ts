import type { RunLimits } from '../../../shared/contract/index.ts'
import { formatMegabytes, problemOfLimits } from '../../../shared/run-limits.ts'
import { formatDuration } from '../../../shared/time.ts'

export type LimitName = keyof RunLimits
type LimitUnit = 'duration' | 'size' | 'count'

interface LimitField {
  readonly name: LimitName
  readonly label: string
  readonly unit: LimitUnit
  /** What a sensible one looks like. */
  readonly example: string
  readonly text: string
}

/** All limits of a run, the most used first; the last two are for those who know what they ask for. */
export const LIMITS: readonly LimitField[] = [
  {
    name: 'wallSeconds',
    label: 'Wall time',
    unit: 'duration',
    example: '30 min',
    text: 'From its start, however little it does.'
  },
  {
    name: 'silentSeconds',
    label: 'Silence',
    unit: 'duration',
    example: '10 min',
    text: 'Without a new line in its log: it hangs.'
  },
  {
    name: 'memoryMegabytes',
    label: 'Memory',
    unit: 'size',
    example: '512 MB',
    text: 'Of all its processes, browsers included.'
  },
  {
    name: 'cpuSeconds',
    label: 'CPU time',
    unit: 'duration',
    example: '1 h',
    text: 'Time on a core, over all its processes.'
  },
  { name: 'logMegabytes', label: 'Log size', unit: 'size', example: '100 MB', text: 'Of its log file.' },
  { name: 'openFiles', label: 'Open files', unit: 'count', example: '1024', text: 'And connections, each process.' },
  {
    name: 'addressSpaceMegabytes',
    label: 'Address space',
    unit: 'size',
    example: '4 GB',
    text: 'Reserved, not used: often far above memory.'
  }
]
export const ADVANCED_LIMITS: ReadonlySet<LimitName> = new Set(['openFiles', 'addressSpaceMegabytes'])

/** What stands in the fields while somebody types; empty: no limit. */
export type LimitTexts = Readonly<Record<LimitName, string>>

const UNITS: Record<Exclude<LimitUnit, 'count'>, readonly (readonly [size: number, pattern: RegExp])[]> = {
  duration: [
    [86_400, /^d(ays?)?$/],
    [3600, /^h(ours?|rs?)?$/],
    [60, /^m(in(ute)?s?)?$/],
    [1, /^s(ec(ond)?s?)?$/]
  ],
  // As the engine and operating systems count memory: a megabyte is 1,024 × 1,024 bytes.
  size: [
    [1_048_576, /^ti?b?$/],
    [1024, /^gi?b?$/],
    [1, /^mi?b?$/]
  ]
}
const LIMIT_MAX = 1_000_000_000

/** `1 h 30 min`, `512 MB`, `1,024`: in the largest units that say it exactly. */
export function formatLimit(name: LimitName, value: number): string {
  const unit = unitOf(name)
  if (unit === 'count') return new Intl.NumberFormat('en').format(value)
  return unit === 'size' ? formatMegabytes(value) : formatDuration(value)
}

/** What somebody typed as the engine counts it (seconds, megabytes, a number); null: no limit. */
export function parseLimit(name: LimitName, text: string): { value: number | null } | { problem: string } {
  const unit = unitOf(name)
  const { example } = LIMITS.find((each) => each.name === name) as LimitField
  const typed = text.trim().toLowerCase()
  if (typed === '') return { value: null }
  if (unit === 'count') {
    const value = Number(typed.replaceAll(',', ''))
    return Number.isInteger(value) ? checked(name, value) : { problem: `A whole number, like ${example}` }
  }
  if (/^[\d.]+$/.test(typed)) {
    const [small, large] = unit === 'duration' ? ['s', 'min'] : ['MB', 'GB']
    return { problem: `${typed} what? ${typed} ${small} or ${typed} ${large}` }
  }
  let value = 0
  for (const [, count, word] of typed.matchAll(/([\d.]+)\s*([a-z]+)\s*|(.)/g)) {
    const size = UNITS[unit].find(([, pattern]) => pattern.test(word ?? ''))?.[0]
    if (size === undefined || Number.isNaN(Number(count))) return { problem: `Write it like ${example}` }
    value += Number(count) * size
  }
  return checked(name, Math.round(value))
}

function checked(name: LimitName, value: number): { value: number } | { problem: string } {
  if (value < 1) return { problem: 'Too small: leave it empty for no limit' }
  if (value > LIMIT_MAX) return { problem: 'Too large: leave it empty for no limit' }
  const problem = problemOfLimits({ [name]: value })
  return problem === null ? { value } : { problem }
}

export function limitTexts(limits: RunLimits | null | undefined): LimitTexts {
  return Object.fromEntries(
    LIMITS.map(({ name }) => [name, limits?.[name] == null ? '' : formatLimit(name, limits[name])])
  ) as Record<LimitName, string>
}

/** What the fields say; null: nothing is limited. */
export function readLimits(texts: LimitTexts): { limits: RunLimits | null } | { problem: string } {
  const limits: RunLimits = {}
  for (const { name, label } of LIMITS) {
    const read = parseLimit(name, texts[name])
    if ('problem' in read) return { problem: `${label}: ${read.problem}` }
    if (read.value !== null) limits[name] = read.value
  }
  return { limits: Object.keys(limits).length === 0 ? null : limits }
}

/** `30 min wall time, 512 MB memory`; null: nothing is limited. */
export function describeLimits(limits: RunLimits | null): string | null {
  const words = limitsInForce(limits).map(
    ({ label, value }) => `${value} ${label.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase())}`
  )
  return words.length === 0 ? null : words.join(', ')
}

/** Those that are set, in words. */
export function limitsInForce(limits: RunLimits | null): { name: LimitName; label: string; value: string }[] {
  return LIMITS.flatMap(({ name, label }) => {
    const value = limits?.[name]
    return value == null ? [] : [{ name, label, value: formatLimit(name, value) }]
  })
}

function unitOf(name: LimitName): LimitUnit {
  return (LIMITS.find((each) => each.name === name) as LimitField).unit
}
