/** One measured value, as printed by `npm run bench`. */
export interface Figure {
  /** Stable name including the unit, such as `post_p95_ms`. */
  figure: string
  value: number
  unit: string
  /** What it was measured with: sizes, versions, machine. */
  conditions: Record<string, string | number>
}
