export interface Figure {
  figure: string
  value: number
  unit: string
  conditions: Conditions
  /** For a ratio: what was compared, and the wanted ratio. */
  comparison?: Comparison
  goal?: Goal
}

export type Goal = { atLeast: number } | { atMost: number }

export type Conditions = Record<string, string | number>

/** Our value and the bound, measured in the same run. Absolute values depend on the machine; the ratio hardly does. */
export interface Comparison {
  ours: number
  bound: number
  unit: string
  boundIs: string
  wanted: Goal
}

/**
 * Returns the ratio as the main figure, followed by both values. `name` is the prefix of each figure's name, as in
 * `daemonstatus_ratio`.
 */
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

export function isMet({ ours, bound, wanted }: Comparison): boolean {
  return 'atLeast' in wanted ? ours / bound >= wanted.atLeast : ours / bound <= wanted.atMost
}

export function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}
