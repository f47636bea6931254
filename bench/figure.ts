/** One measured number, as `npm run bench` prints it. */
export interface Figure {
  /** Stable name with its unit, such as `post_p95_ms`. */
  figure: string
  value: number
  unit: string
  /** What it was measured with: sizes, versions, the machine. */
  conditions: Record<string, string | number>
}
