import { silentLogger } from '../../../runtime/logger.ts'
import { copyStore, type StorePlace } from '../copy-store.ts'

// A process for copy-store.full.integration.test.ts: copies in small batches, prints a line for each, and is killed.
const clock = new Int32Array(new SharedArrayBuffer(4))
const [from, to] = JSON.parse(process.argv[2] ?? '') as [StorePlace, StorePlace]
copyStore({
  from,
  to,
  logger: silentLogger,
  limits: { rows: 20, bytes: 100_000 },
  report(progress) {
    process.stdout.write(`${JSON.stringify(progress)}\n`)
    // Long enough for the killing test to have read that.
    Atomics.wait(clock, 0, 0, progress.table === 'jobs' ? 100 : 1)
  }
})
