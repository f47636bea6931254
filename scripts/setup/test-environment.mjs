/** Records what the setup of `npm test` and `npm run test:full` found and installed, in a file for the tests. */
import fs from 'node:fs'
import { ensureBubblewrap } from './bubblewrap.mjs'
import { ensureChromium } from './chromium.mjs'
import { inRoot } from './platform.mjs'
import { ensureOpenSsh } from './openssh.mjs'
import { ensurePostgres } from './postgres.mjs'
import { ensureS3Server } from './s3-server.mjs'
import { ensureTestPythonEnvironment } from './python-environment.mjs'
import { ensureRedis } from './redis.mjs'
import { ensureScrapydVersions, newestScrapyd } from './scrapyd-versions.mjs'
import { say } from './steps.mjs'

const file = inRoot('.cache', 'test-environment.json')

/**
 * @typedef {object} TestEnvironment
 * @property {string} python has Scrapy, Scrapyd 1.6.0, scrapyd-client
 * @property {string | null} chromium null: only `npm run demo` has been set up so far
 * @property {Record<string, import('./scrapyd-versions.mjs').ScrapydInstallation>} scrapyd by version
 * @property {import('./postgres.mjs').PostgresInstallation | null} postgres null: only the demo has been set up so far
 * @property {import('./s3-server.mjs').S3Installation | null} [s3] null: the full suite has not been set up so far
 * @property {import('./redis.mjs').RedisInstallation | null} redis likewise
 * @property {import('./openssh.mjs').OpenSshInstallation | null} [openssh] likewise
 * @property {import('./bubblewrap.mjs').BubblewrapInstallation | null} [bubblewrap] likewise
 */

/**
 * Sets up an S3 server and the Scrapyds between the oldest and the newest only for the full suite.
 * @param {{ isFull: boolean, nodeModules: Promise<void> }} options
 * @returns {Promise<TestEnvironment>}
 */
export async function ensureTestEnvironment({ isFull, nodeModules }) {
  const before = fs.existsSync(file) ? readTestEnvironment() : null
  const python = await ensureTestPythonEnvironment()
  const scrapyd = { ...before?.scrapyd, ...(await ensureScrapydVersions(python, isFull)) }
  await nodeModules
  const s3 = isFull ? await ensureS3Server(python) : (before?.s3 ?? null)
  const postgres = await ensurePostgres()
  const redis = await ensureRedis()
  const openssh = await ensureOpenSsh()
  const bubblewrap = await ensureBubblewrap()
  const servers = { postgres, s3, redis, openssh, bubblewrap }
  nameUntested({ scrapyd, ...servers })
  return write({ python, chromium: await ensureChromium(), scrapyd, ...servers })
}

/** Sets up only what the demo uses. Keeps the results of an earlier setup of the tests. */
export async function ensureDemoEnvironment() {
  const python = await ensureTestPythonEnvironment()
  const before = fs.existsSync(file) ? readTestEnvironment() : null
  return write({
    python,
    chromium: before?.chromium ?? null,
    postgres: before?.postgres ?? null,
    s3: before?.s3 ?? null,
    redis: before?.redis ?? null,
    openssh: before?.openssh ?? null,
    bubblewrap: before?.bubblewrap ?? null,
    scrapyd: { ...before?.scrapyd, ...newestScrapyd(python) }
  })
}

/** @param {TestEnvironment} environment */
function write(environment) {
  fs.writeFileSync(file, `${JSON.stringify(environment, null, 2)}\n`)
  return environment
}

/**
 * Names each server that cannot run here, so none is skipped silently.
 * @param {Pick<TestEnvironment, 'scrapyd' | 'postgres' | 's3' | 'redis' | 'openssh' | 'bubblewrap'>} environment
 */
export function nameUntested({ scrapyd, postgres, s3, redis, openssh, bubblewrap }) {
  if (openssh?.problem) say(`! No SSH server can run here, and nodes over SSH are not tested: ${openssh.problem}`)
  if (bubblewrap?.problem)
    say(`! bubblewrap cannot run here, and sandboxes of spiders are not tested: ${bubblewrap.problem}`)
  if (redis?.problem) say(`! Redis cannot run here, and the shared cache on it is not tested: ${redis.problem}`)
  if (postgres?.problem) say(`! PostgreSQL cannot run here, and the store on it is not tested: ${postgres.problem}`)
  if (s3?.problem) say(`! No S3 server can run here, and blobs on S3 are not tested: ${s3.problem}`)
  for (const [version, { problem }] of Object.entries(scrapyd)) {
    if (problem) say(`! Scrapyd ${version} cannot run with this Python and is not tested here: ${problem}`)
  }
}

/** @returns {TestEnvironment} the result of the last setup */
export function readTestEnvironment() {
  if (!fs.existsSync(file)) throw new Error('The test environment is not set up. Run `npm run setup`, then try again.')
  return JSON.parse(fs.readFileSync(file, 'utf8'))
}
