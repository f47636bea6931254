/** One measured value, as printed by `npm run bench`. */
export interface Figure {
  /** Stable name including the unit, such as `post_p95_ms`. */
  figure: string
  value: number
  unit: string
  /** The conditions of the measurement: sizes, versions, machine. */
  conditions: Conditions
  /** Present on a ratio: what was compared with what, and the wanted ratio. */
  comparison?: Comparison
  /** The wanted absolute value, which depends on the machine. */
  goal?: Goal
}

export type Goal = { atLeast: number } | { atMost: number }

export type Conditions = Record<string, string | number>

/**
 * Our value beside the bound measured in the same run. Absolute values say more about the machine than about us; their
 * ratio is valid on any machine.
 */
export interface Comparison {
  ours: number
  bound: number
  unit: string
  /** The bound in a few words: `Scrapyd 1.6`, `two bare transactions and a POST`. */
  boundIs: string
  wanted: Goal
}

/** The ratio as the main figure, and both values below it. `name` precedes each: `daemonstatus_ratio`. */
export function compare(name: string, comparison: Comparison, conditions: Conditions): Figure[] {
  const { ours, bound, unit } = comparison
  const prefix = name === '' ? '' : `${name}_`
  const suffix = unit.replace('/', '_per_').replaceAll(' ', '_').replace('µ', 'u')
  return [
    { figure: `${prefix}ratio`, value: round(ours / bound), unit: 'times', conditions, comparison },
    { figure: `${prefix}ours_${suffix}`, value: round(ours), unit, conditions },
    { figure: `${prefix}bound_${suffix}`, value: round(bound), unit, conditions }
  ]
}

/** Whether a comparison reaches the wanted ratio. */
export function isMet({ ours, bound, wanted }: Comparison): boolean {
  return 'atLeast' in wanted ? ours / bound >= wanted.atLeast : ours / bound <= wanted.atMost
}

/** At least three significant digits; larger values become whole numbers. */
export function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}
