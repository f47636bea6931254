/** Rows for another thread: what is the same in all of them is sent once. */
export interface SentRows {
  same: unknown[]
  /** The columns that differ; `rows` has their values. */
  varying: number[]
  rows: unknown[][]
}

/** Of rows of texts, numbers and nulls, as a `raw` statement answers. Most columns of a page of jobs have one value. */
export function sendRows(rows: readonly (readonly unknown[])[]): SentRows {
  const same = [...(rows[0] ?? [])]
  const varying = [...same.keys()].filter((column) => rows.some((row) => row[column] !== same[column]))
  // Arrays that are filled from their start: others are sent like objects, each index with its value.
  const sent: unknown[][] = []
  for (const row of rows) {
    const values: unknown[] = []
    for (const column of varying) values.push(row[column])
    sent.push(values)
  }
  return { same, varying, rows: sent }
}

export function receiveRows({ same, varying, rows }: SentRows): unknown[][] {
  return rows.map((values) => {
    const row = [...same]
    for (let index = 0; index < varying.length; index += 1) row[varying[index]!] = values[index]
    return row
  })
}
