import { type Comparison, type Figure, isMet, round } from './figure.ts'

export interface Row extends Comparison {
  bench: string
  figure: string
}

export function rowsOf(bench: string, figures: readonly Figure[]): Row[] {
  return figures.flatMap(({ figure, comparison }) =>
    comparison === undefined ? [] : [{ bench, figure, ...comparison }]
  )
}

export function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const { bench, figure, boundIs, bound, ours, unit, wanted } = row
    const goal = 'atLeast' in wanted ? `≥ ${wanted.atLeast}` : `≤ ${wanted.atMost}`
    const values = [`${number(bound)} ${unit}`, `${number(ours)} ${unit}`, `${round(ours / bound)}`, goal]
    return `| ${[`\`${bench}\``, `\`${figure}\``, boundIs, ...values, isMet(row) ? 'yes' : '**no**'].join(' | ')} |`
  })
  return [
    '| bench | figure | bound | bound measured | ours | ratio | wanted | met |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...lines
  ].join('\n')
}

const number = (value: number) => round(value).toLocaleString('en-US')
