import { ScrapdeckError } from '../../../shared/errors.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createJobIds } from '../../runtime/ids.ts'
import { silentLogger } from '../../runtime/logger.ts'
import { systemRandom } from '../../runtime/random.ts'
import { aNewJob } from '../../testing/builders.ts'
import { openSqliteStore } from '../sqlite/open-sqlite-store.ts'

// For sqlite-store.test.ts: writes jobs, three per call, and prints the acknowledged ids, until it is killed. On a
// ScrapdeckError, prints its code as the last line and ends.
const makeId = createJobIds(systemClock, systemRandom)
try {
  const store = await openSqliteStore({ path: process.argv[2] ?? '', clock: systemClock, logger: silentLogger })
  for (;;) {
    const calls = Array.from({ length: 4 }, () => Array.from({ length: 3 }, () => aNewJob({ id: makeId() })))
    await Promise.all(calls.map((jobs) => store.enqueueJobs(jobs)))
    process.stdout.write(
      calls
        .flat()
        .map(({ id }) => `${id}\n`)
        .join('')
    )
  }
} catch (error) {
  process.stdout.write(error instanceof ScrapdeckError ? `${error.code}\n` : `${String(error)}\n`)
}
