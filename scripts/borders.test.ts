import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cacheDirectory, inRoot, packageFile } from './setup/platform.mjs'

/** One forbidden import for each rule: the importing file, what it imports, the rule that must fire. */
const PLANTED: [file: string, imported: string, rule: string][] = [
  ['src/shared/a.ts', '../engine/index.ts', 'shared-imports-nothing-of-ours'],
  ['src/shared/b.ts', 'node:fs', 'shared-runs-anywhere'],
  ['src/shared/c.ts', './nowhere.ts', 'resolvable'],
  ['src/shared/d.ts', './e.ts', 'no-cycles'],
  ['src/engine/api/change-feed/a.ts', '../../server/app.ts', 'engine-stands-alone'],
  ['src/engine/api/change-feed/b.ts', 'electron', 'engine-is-plain-node'],
  ['src/engine/api/change-feed/c.ts', 'fastify', 'engine-is-plain-node'],
  ['src/engine/api/change-feed/d.ts', 'react', 'engine-is-plain-node'],
  ['src/engine/api/change-feed/e.ts', '../testing/builders.ts', 'testing-only-in-tests'],
  ['src/engine/api/change-feed/f.ts', 'better-sqlite3', 'only-store-knows-sql'],
  ['src/engine/api/change-feed/g.ts', 'kysely', 'only-store-knows-sql'],
  ['src/engine/api/import/a.ts', '../wiring/rooms.ts', 'engine-room-import'],
  ['src/engine/maintenance/backup/a.ts', '../import/import-scrapyd.ts', 'engine-room-backup'],
  ['src/engine/api/router/a.ts', '../import/import-scrapyd.ts', 'engine-room-router'],
  ['src/engine/monitoring/health/a.ts', '../router/router.ts', 'engine-room-health'],
  ['src/engine/api/fleet-file/a.ts', '../router/router.ts', 'engine-room-fleet-file'],
  ['src/engine/api/scrapyd-commands/a.ts', '../router/router.ts', 'engine-room-scrapyd-commands'],
  ['src/engine/api/commands/a.ts', '../router/router.ts', 'engine-room-commands'],
  ['src/engine/monitoring/alerts/a.ts', '../commands/order.ts', 'engine-room-alerts'],
  ['src/engine/monitoring/expectations/a.ts', '../commands/order.ts', 'engine-room-expectations'],
  ['src/engine/schedules/a.ts', '../commands/order.ts', 'engine-room-schedules'],
  ['src/engine/maintenance/retention/a.ts', '../commands/order.ts', 'engine-room-retention'],
  ['src/engine/jobs/queue/a.ts', '../commands/order.ts', 'engine-room-queue'],
  ['src/engine/jobs/dispatch/a.ts', '../commands/order.ts', 'engine-room-dispatch'],
  ['src/engine/nodes/a.ts', '../dispatch/placing/dispatcher.ts', 'engine-room-nodes'],
  ['src/engine/nodes/local/a.ts', '../nodes/registry.ts', 'engine-room-launcher'],
  ['src/engine/projects/a.ts', '../nodes/registry.ts', 'engine-room-projects'],
  ['src/engine/runs/logs/a.ts', '../nodes/registry.ts', 'engine-room-logs'],
  ['src/engine/jobs/outcome/a.ts', '../nodes/registry.ts', 'engine-room-output'],
  ['src/engine/runs/log-collector/a.ts', '../dispatch/placing/dispatcher.ts', 'engine-room-collecting'],
  ['src/engine/runs/logs/a.ts', '../nodes/registry.ts', 'engine-room-logs'],
  ['src/engine/runs/log-parser/a.ts', '../nodes/registry.ts', 'engine-room-understanding'],
  ['src/engine/runs/search/a.ts', '../nodes/registry.ts', 'engine-room-search'],
  ['src/engine/runs/items/a.ts', '../nodes/registry.ts', 'engine-room-items'],
  ['src/engine/notify/plugins/a.ts', '../nodes/registry.ts', 'engine-room-plugins'],
  ['src/engine/notify/webhooks/a.ts', '../nodes/registry.ts', 'engine-room-webhooks'],
  ['src/engine/api/change-feed/h.ts', '../nodes/registry.ts', 'engine-room-events'],
  ['src/engine/cluster/leadership/a.ts', '../nodes/registry.ts', 'engine-room-leadership'],
  ['src/engine/cluster/cache/a.ts', '../nodes/registry.ts', 'engine-room-cache'],
  ['src/engine/access/a.ts', '../nodes/registry.ts', 'engine-room-access'],
  ['src/engine/access/audit/a.ts', '../nodes/registry.ts', 'engine-room-audit'],
  ['src/engine/storage/a.ts', '../queue/claim.ts', 'engine-room-store'],
  ['src/engine/model/a.ts', '../store/store.ts', 'engine-room-job-rules'],
  ['src/engine/storage/blobs/a.ts', '../store/store.ts', 'engine-room-blobs'],
  ['src/engine/runtime/a.ts', '../store/store.ts', 'engine-room-runtime'],
  ['src/cli/a.ts', '../engine/queue/claim.ts', 'engine-one-door'],
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

/** Allowed, though similar to a violation. */
const ALLOWED: [file: string, imported: string][] = [
  ['src/engine/jobs/dispatch/b.ts', '../queue/claim.ts'],
  ['src/engine/nodes/local/b.ts', '../nodes/node-client.ts'],
  ['src/engine/api/change-feed/i.test.ts', '../testing/builders.ts'],
  ['src/engine/storage/b.ts', 'better-sqlite3'],
  ['src/cli/d.ts', '../engine/index.ts'],
  ['src/cli/e.ts', '../engine/import/import-scrapyd.ts'],
  ['src/main/a.ts', 'electron'],
  ['src/renderer/features/jobs/b.ts', '../../../shared/ids.ts']
]

const EXISTING = [
  'src/shared/ids.ts',
  'src/engine/index.ts',
  'src/engine/assembly/rooms.ts',
  'src/engine/api/import/import-scrapyd.ts',
  'src/engine/api/router/router.ts',
  'src/engine/api/commands/order.ts',
  'src/engine/jobs/queue/claim.ts',
  'src/engine/jobs/dispatch/placing/dispatcher.ts',
  'src/engine/nodes/registry.ts',
  'src/engine/nodes/node-client.ts',
  'src/engine/storage/store.ts',
  'src/engine/testing/builders.ts',
  'src/server/app.ts',
  'src/cli/bin.ts',
  'src/main/index.ts',
  'src/renderer/features/nodes/card.ts'
]

// In a separate directory, so that nobody building at the same time sees the planted files.
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

/** A type import: the borders apply to types too. */
function importOf(imported: string): string {
  return `import type * as Other from '${imported}'\nexport type Thing = typeof Other\n`
}
