import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cacheDirectory, inRoot, packageFile } from './setup/platform.mjs'

/** One forbidden import for each rule: the importing file, the imported path, and the rule that must fire. */
const PLANTED: [file: string, imported: string, rule: string][] = [
  ['src/shared/a.ts', '../engine/index.ts', 'shared-imports-nothing-of-ours'],
  ['src/shared/b.ts', 'node:fs', 'shared-runs-anywhere'],
  ['src/shared/c.ts', './nowhere.ts', 'resolvable'],
  ['src/shared/d.ts', './e.ts', 'no-cycles'],
  ['src/engine/api/x.ts', '../../server/app.ts', 'engine-stands-alone'],
  ['src/engine/api/b.ts', 'electron', 'engine-is-plain-node'],
  ['src/engine/api/c.ts', 'fastify', 'engine-is-plain-node'],
  ['src/engine/api/d.ts', 'react', 'engine-is-plain-node'],
  ['src/engine/api/e.ts', '../testing/builders.ts', 'testing-only-in-tests'],
  ['src/engine/api/f.ts', 'better-sqlite3', 'only-store-knows-sql'],
  ['src/engine/api/g.ts', 'kysely', 'only-store-knows-sql'],
  ['src/engine/api/a.ts', '../assembly/open-engine.ts', 'engine-order-api'],
  ['src/engine/monitoring/a.ts', '../api/router/router.ts', 'engine-order-monitoring'],
  ['src/engine/maintenance/a.ts', '../monitoring/health/figures.ts', 'engine-order-maintenance'],
  ['src/engine/jobs/a.ts', '../maintenance/retention/disk.ts', 'engine-order-jobs'],
  ['src/engine/runs/a.ts', '../jobs/dispatch/dispatch.ts', 'engine-order-runs'],
  ['src/engine/schedules/a.ts', '../runs/logs/job-logs.ts', 'engine-order-schedules'],
  ['src/engine/notify/a.ts', '../schedules/scheduler.ts', 'engine-order-notify'],
  ['src/engine/nodes/a.ts', '../notify/deliveries/post.ts', 'engine-order-nodes'],
  ['src/engine/projects/a.ts', '../nodes/fleet.ts', 'engine-order-projects'],
  ['src/engine/cluster/a.ts', '../projects/catalog.ts', 'engine-order-cluster'],
  ['src/engine/access/a.ts', '../cluster/leadership/leadership.ts', 'engine-order-access'],
  ['src/engine/storage/a.ts', '../access/access.ts', 'engine-order-storage'],
  ['src/engine/model/a.ts', '../storage/store.ts', 'engine-order-model'],
  ['src/engine/runtime/a.ts', '../model/records.ts', 'engine-order-runtime'],
  ['src/engine/api/face-monitoring.ts', '../monitoring/private.ts', 'engine-face-monitoring'],
  ['src/engine/api/face-maintenance.ts', '../maintenance/private.ts', 'engine-face-maintenance'],
  ['src/engine/api/face-jobs.ts', '../jobs/private.ts', 'engine-face-jobs'],
  ['src/engine/jobs/face-runs.ts', '../runs/private.ts', 'engine-face-runs'],
  ['src/engine/jobs/face-schedules.ts', '../schedules/private.ts', 'engine-face-schedules'],
  ['src/engine/jobs/face-notify.ts', '../notify/private.ts', 'engine-face-notify'],
  ['src/engine/jobs/face-nodes.ts', '../nodes/private.ts', 'engine-face-nodes'],
  ['src/engine/jobs/face-projects.ts', '../projects/private.ts', 'engine-face-projects'],
  ['src/engine/jobs/face-cluster.ts', '../cluster/private.ts', 'engine-face-cluster'],
  ['src/engine/jobs/face-access.ts', '../access/private.ts', 'engine-face-access'],
  ['src/engine/jobs/face-storage.ts', '../storage/private.ts', 'engine-face-storage'],
  ['src/cli/a.ts', '../engine/jobs/queue/claim.ts', 'engine-one-door'],
  ['src/cli/b.ts', '../main/index.ts', 'hosts-apart'],
  ['src/cli/c.ts', 'electron', 'service-without-electron'],
  ['src/server/a.ts', '../cli/bin.ts', 'server-knows-no-host'],
  ['src/config/a.ts', '../main/index.ts', 'config-knows-no-host'],
  ['src/remote/a.ts', '../cli/bin.ts', 'remote-knows-no-host'],
  ['src/renderer/app/a.ts', '../../engine/index.ts', 'renderer-speaks-the-contract'],
  ['src/renderer/app/b.ts', 'node:fs', 'renderer-is-a-web-page'],
  ['src/renderer/app/c.ts', 'electron', 'only-desktop-knows-electron'],
  ['src/renderer/features/jobs/a.ts', '../nodes/card.ts', 'renderer-features-are-islands'],
  ['src/preload/a.ts', '../main/index.ts', 'preload-knows-the-wire-only']
]

const ALLOWED: [file: string, imported: string][] = [
  ['src/engine/jobs/dispatch/b.ts', '../queue/claim.ts'],
  ['src/engine/assembly/b.ts', '../nodes/private.ts'],
  ['src/engine/jobs/b.ts', '../nodes/node-client.ts'],
  ['src/engine/api/i.test.ts', '../testing/builders.ts'],
  ['src/engine/storage/b.ts', 'better-sqlite3'],
  ['src/cli/d.ts', '../engine/index.ts'],
  ['src/cli/e.ts', '../engine/api/import/import-scrapyd.ts'],
  ['src/main/a.ts', 'electron'],
  ['src/renderer/features/jobs/b.ts', '../../../shared/ids.ts']
]

const EXISTING = [
  'src/shared/ids.ts',
  'src/engine/index.ts',
  'src/engine/assembly/open-engine.ts',
  'src/engine/api/router/router.ts',
  'src/engine/api/import/import-scrapyd.ts',
  'src/engine/monitoring/health/figures.ts',
  'src/engine/maintenance/retention/disk.ts',
  'src/engine/jobs/dispatch/dispatch.ts',
  'src/engine/jobs/queue/claim.ts',
  'src/engine/runs/logs/job-logs.ts',
  'src/engine/schedules/scheduler.ts',
  'src/engine/notify/deliveries/post.ts',
  'src/engine/nodes/fleet.ts',
  'src/engine/nodes/node-client.ts',
  'src/engine/projects/catalog.ts',
  'src/engine/cluster/leadership/leadership.ts',
  'src/engine/access/access.ts',
  'src/engine/storage/store.ts',
  'src/engine/model/records.ts',
  ...[
    'monitoring',
    'maintenance',
    'jobs',
    'runs',
    'schedules',
    'notify',
    'nodes',
    'projects',
    'cluster',
    'access',
    'storage'
  ].map((wing) => `src/engine/${wing}/private.ts`),
  'src/engine/testing/builders.ts',
  'src/server/app.ts',
  'src/cli/bin.ts',
  'src/main/index.ts',
  'src/renderer/features/nodes/card.ts'
]

// Uses a separate directory, so a concurrent build does not see the planted files.
let house = ''
let violations: { from: string; rule: { name: string } }[] = []
let rules: { name: string; comment: string }[] = []

beforeAll(async () => {
  fs.mkdirSync(cacheDirectory, { recursive: true })
  house = fs.mkdtempSync(path.join(cacheDirectory, 'borders-'))
  for (const file of EXISTING) write(file, 'export type Thing = string\n')
  write('src/shared/e.ts', importOf('./d.ts'))
  for (const [file, imported] of [...PLANTED, ...ALLOWED]) write(file, importOf(imported))
  ;({ violations, rules } = await cruise())
}, 60_000)

afterAll(() => fs.rmSync(house, { recursive: true, force: true }))

test.each(PLANTED)('%s may not import %s (%s)', (file, _imported, rule) => {
  expect(violations.filter(({ from }) => from === file).map(({ rule: { name } }) => name)).toContain(rule)
})

test.each(ALLOWED)('%s may import %s', (file) => {
  expect(violations.filter(({ from }) => from === file)).toEqual([])
})

test('every rule has a planted import and a comment that tells the developer what to do', () => {
  expect(rules.map(({ name }) => name).sort()).toEqual([...new Set(PLANTED.map(([, , rule]) => rule))].sort())
  for (const { comment } of rules) expect(comment.length).toBeGreaterThan(40)
})

async function cruise() {
  const args = ['src', '--config', inRoot('.dependency-cruiser.cjs'), '--output-type', 'json']
  const program = packageFile('dependency-cruiser/bin/dependency-cruiser.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], {
    cwd: house,
    maxBuffer: 50_000_000
  })
  const { summary } = JSON.parse(stdout)
  return { violations: summary.violations, rules: summary.ruleSetUsed.forbidden }
}

function write(file: string, text: string): void {
  const target = path.join(house, file)
  fs.mkdirSync(path.dirname(target), { recursive: true })
  fs.writeFileSync(target, text)
}

/** Uses a type import, because the borders also apply to types. */
function importOf(imported: string): string {
  return `import type * as Other from '${imported}'\nexport type Thing = typeof Other\n`
}
