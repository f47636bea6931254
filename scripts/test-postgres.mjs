/**
 * `npm run test:postgres` runs the long form of the store's tests on an old PostgreSQL (Debian's) and a current one
 * (npm).
 */
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { nodeBinary, packageFile } from './setup/platform.mjs'
import { ensureAllPostgres } from './setup/postgres.mjs'
import { commandStep, say, showFailure } from './setup/steps.mjs'

try {
  for (const programs of await ensureAllPostgres()) {
    const version = execFileSync(path.join(programs, 'postgres'), ['--version'], { encoding: 'utf8' }).trim()
    say(`The store on ${version}`)
    await commandStep({
      title: version,
      command: nodeBinary,
      args: [packageFile('vitest/vitest.mjs'), 'run', '--project', 'integration', 'src/engine/storage/'],
      env: { NO_COLOR: '1', TEST_LENGTH: 'long', POSTGRES_PROGRAMS: programs }
    })
  }
  say('All passed.')
} catch (error) {
  showFailure(error)
  process.exitCode = 1
}
