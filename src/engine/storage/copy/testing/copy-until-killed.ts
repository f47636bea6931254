import { silentLogger } from '../../../runtime/logger.ts'
import { copyStore, type StorePlace } from '../copy-store.ts'

// For copy-store.full.integration.test.ts: copies in small batches and prints a line for each, until it is killed.
const clock = new Int32Array(new SharedArrayBuffer(4))
const [from, to] = JSON.parse(process.argv[2] ?? '') as [StorePlace, StorePlace]
copyStore({
  from,
  to,
  logger: silentLogger,
  limits: { rows: 20, bytes: 100_000 },
  report(progress) {
    process.stdout.write(`${JSON.stringify(progress)}\n`)
    // Gives the test time to read this line before it kills the process.
    Atomics.wait(clock, 0, 0, progress.table === 'jobs' ? 100 : 1)
  }
})
