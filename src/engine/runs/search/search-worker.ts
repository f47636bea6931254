import { servePool, type TaskContext } from '../../runtime/task-worker.ts'
import { type BitTerm, endOfBlocks, probeBlocks } from './index/index-files.ts'
import { type IndexOrder, indexLogs } from './index/index-logs.ts'
import { scanLogs, type ScanOrder } from './scan/scan-logs.ts'

servePool({
  index: (order: IndexOrder, { isStopped }: TaskContext) => indexLogs(order, isStopped),
  endOfBlocks: ({ directory }: { directory: string }) => endOfBlocks(directory),
  probe: ({ directory, term }: { directory: string; term: BitTerm }) => probeBlocks(directory, term),
  scan: (order: ScanOrder, { emit, isStopped }: TaskContext) => scanLogs(order, { emit, isStopped })
})
