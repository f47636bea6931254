import type { Database } from './database.ts'
import type { ProjectName } from '../../../shared/contract/index.ts'

interface LogSum {
  count: number
  bytes: number
  packedBytes: number
}

export type LogSums = ReturnType<typeof createLogSums>

/** The number and sizes of archived logs by project. Writers add differences; `flush` writes them once per write. */
export function createLogSums(database: Database) {
  const add = database.prepare<[string, number, number, number]>(
    `INSERT INTO log_sums VALUES (?, ?, ?, ?) ON CONFLICT (project) DO UPDATE SET
      count = log_sums.count + excluded.count, bytes = log_sums.bytes + excluded.bytes,
      packed_bytes = log_sums.packed_bytes + excluded.packed_bytes`
  )
  const drop = database.prepare<[string]>('DELETE FROM log_sums WHERE project = ? AND count = 0')
  const differences = new Map<ProjectName, LogSum>()

  return {
    add(project: ProjectName, factor: 1 | -1, { count, bytes, packedBytes }: LogSum): void {
      const sum = differences.get(project) ?? { count: 0, bytes: 0, packedBytes: 0 }
      sum.count += factor * count
      sum.bytes += factor * bytes
      sum.packedBytes += factor * packedBytes
      differences.set(project, sum)
    },

    flush(): void {
      for (const [project, { count, bytes, packedBytes }] of differences) {
        if (count === 0 && bytes === 0 && packedBytes === 0) continue
        add.run(project, count, bytes, packedBytes)
        if (count < 0) drop.run(project)
      }
      differences.clear()
    },

    discard: () => differences.clear()
  }
}
