import { z } from 'zod'
import type { RunLimits } from '../../../shared/contract/index.ts'
import { formatMegabytes, LOG_LIMITS, problemOfRunLimits } from '../../../shared/run-limits.ts'
import { formatCount } from '../../../shared/numbers.ts'
import { formatDuration } from '../../../shared/time.ts'
import { texts as words } from '../../../shared/texts/ui/shared.ts'
import { textOfProblem } from '../../api/in-language.ts'

export type LimitName = keyof RunLimits
type LimitUnit = 'duration' | 'size' | 'count' | 'percent'

interface LimitField {
  readonly name: LimitName
  readonly label: string
  readonly unit: LimitUnit
  readonly example: string
  readonly text: string
}

/** All limits of a run, the most used first. The last two are rarely needed. */
export const LIMITS: readonly LimitField[] = [
  {
    name: 'wallSeconds',
    label: words.wallTime,
    unit: 'duration',
    example: '30 min',
    text: words.wallTimeHint
  },
  {
    name: 'noProgressSeconds',
    label: words.noProgress,
    unit: 'duration',
    example: '15 min',
    text: words.noProgressHint
  },
  {
    name: 'maxErrors',
    label: words.errors,
    unit: 'count',
    example: '1000',
    text: words.loggedErrorsHint
  },
  {
    name: 'maxBanPercent',
    label: words.banRate,
    unit: 'percent',
    example: '50 %',
    text: words.banRateHint
  },
  {
    name: 'silentSeconds',
    label: words.silentFor,
    unit: 'duration',
    example: '10 min',
    text: words.silentForHint
  },
  {
    name: 'memoryMegabytes',
    label: words.memory,
    unit: 'size',
    example: '512 MB',
    text: words.memoryHint
  },
  {
    name: 'cpuSeconds',
    label: words.cpuTime,
    unit: 'duration',
    example: '1 h',
    text: words.cpuTimeHint
  },
  { name: 'logMegabytes', label: words.logSize, unit: 'size', example: '100 MB', text: words.logSizeHint },
  {
    name: 'openFiles',
    label: words.openFiles,
    unit: 'count',
    example: '1024',
    text: words.openFilesHint
  },
  {
    name: 'addressSpaceMegabytes',
    label: words.addressSpace,
    unit: 'size',
    example: '4 GB',
    text: words.addressSpaceHint
  }
]
/** The limits that every node enforces. Only the local node enforces the others. */
export const LIMITS_EVERYWHERE: ReadonlySet<LimitName> = new Set(['wallSeconds', ...LOG_LIMITS])
export const ADVANCED_LIMITS: ReadonlySet<LimitName> = new Set(['openFiles', 'addressSpaceMegabytes'])

export type LimitTexts = Record<LimitName, string>

const UNITS: Record<Exclude<LimitUnit, 'count' | 'percent'>, readonly (readonly [size: number, pattern: RegExp])[]> = {
  duration: [
    [86_400, /^d(ays?)?$/],
    [3600, /^h(ours?|rs?)?$/],
    [60, /^m(in(ute)?s?)?$/],
    [1, /^s(ec(ond)?s?)?$/]
  ],
  // In binary units, as the engine and operating systems count memory: a megabyte is 1,024 × 1,024 bytes.
  size: [
    [1_048_576, /^ti?b?$/],
    [1024, /^gi?b?$/],
    [1, /^mi?b?$/]
  ]
}
const LIMIT_MAX = 1_000_000_000

/** `1 h 30 min`, `512 MB`, `1,024`: in the largest exact units. */
export function formatLimit(name: LimitName, value: number): string {
  const { unit } = fieldOf(name)
  if (unit === 'count') return formatCount(value)
  if (unit === 'percent') return `${value} %`
  return unit === 'size' ? formatMegabytes(value) : formatDuration(value)
}

/** Parses the text into the engine's unit (seconds, megabytes, a number). null: no limit. */
export function parseLimit(name: LimitName, text: string): { value: number | null } | { problem: string } {
  const { unit, example } = fieldOf(name)
  if (text.trim() === '') return { value: null }
  if (unit === 'percent') return parsePercent(text, example)
  const read = unit === 'count' ? parseCount(text, example) : parseUnits(unit, text, example)
  if ('problem' in read) return read
  if (read.value < 1) return { problem: words.limitTooSmall }
  if (read.value > LIMIT_MAX) return { problem: words.limitTooLarge }
  const problem = problemOfRunLimits({ [name]: read.value })
  return problem === null ? read : { problem: textOfProblem(problem) }
}

/** Parses `1 h 30 min` into seconds. 0 needs no unit. */
export const parseDuration = (text: string): { value: number } | { problem: string } =>
  /^\s*0\s*$/.test(text) ? { value: 0 } : parseUnits('duration', text, '30 min')

function parsePercent(text: string, example: string): { value: number } | { problem: string } {
  const value = Number(text.replace(/%\s*$/, ''))
  if (!Number.isInteger(value)) return { problem: words.enterWholePercentage(example) }
  return value >= 1 && value <= 99 ? { value } : { problem: words.percentageOutOfRange }
}

function parseCount(text: string, example: string): { value: number } | { problem: string } {
  const value = Number(text.replaceAll(',', ''))
  return Number.isInteger(value) ? { value } : { problem: words.enterWholeNumberLike(example) }
}

function parseUnits(unit: keyof typeof UNITS, text: string, example: string): { value: number } | { problem: string } {
  const typed = text.trim().toLowerCase()
  if (/^[\d.]+$/.test(typed)) {
    const [small, large] = unit === 'duration' ? ['s', 'min'] : ['MB', 'GB']
    return { problem: words.addUnit(typed, small, large) }
  }
  if (typed === '') return { problem: words.requiredLike(example) }
  let value = 0
  for (const [, count, word] of typed.matchAll(/([\d.]+)\s*([a-z]+)\s*|(.)/g)) {
    const size = UNITS[unit].find(([, pattern]) => pattern.test(word ?? ''))?.[0]
    if (size === undefined || Number.isNaN(Number(count))) return { problem: words.notUnderstood(example) }
    value += Number(count) * size
  }
  return { value: Math.round(value) }
}

export function runLimitTexts(runLimits: RunLimits | null | undefined): LimitTexts {
  return Object.fromEntries(
    LIMITS.map(({ name }) => [name, runLimits?.[name] == null ? '' : formatLimit(name, runLimits[name])])
  ) as Record<LimitName, string>
}

const limitText = (name: LimitName) =>
  z.string().transform((text, context) => {
    const read = parseLimit(name, text)
    if ('value' in read) return read.value
    context.issues.push({ code: 'custom', message: read.problem, input: text })
    return z.NEVER
  })

export const RunLimitsForm = z
  .object(
    Object.fromEntries(LIMITS.map(({ name }) => [name, limitText(name)])) as Record<
      LimitName,
      ReturnType<typeof limitText>
    >
  )
  .transform((limits): RunLimits | null => {
    const set = Object.entries(limits).filter(([, value]) => value !== null)
    return set.length === 0 ? null : Object.fromEntries(set)
  })

/** `30 min wall time, 512 MB memory`. null: nothing is limited. */
export function describeRunLimits(runLimits: RunLimits | null): string | null {
  const words = runLimitsInForce(runLimits).map(
    ({ label, value }) => `${value} ${label.replace(/^[A-Z](?![A-Z])/, (letter) => letter.toLowerCase())}`
  )
  return words.length === 0 ? null : words.join(', ')
}

export function runLimitsInForce(runLimits: RunLimits | null): { name: LimitName; label: string; value: string }[] {
  return LIMITS.flatMap(({ name, label }) => {
    const value = runLimits?.[name]
    return value == null ? [] : [{ name, label, value: formatLimit(name, value) }]
  })
}

const fieldOf = (name: LimitName) => LIMITS.find((each) => each.name === name) as LimitField
