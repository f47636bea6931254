import { ProjectSettings, RunTemplate, type UserId } from '../../../../shared/contract/index.ts'
import { aChainId, anAttemptNumber, aProjectName, aWebhookId, branded } from '../../../../shared/testing/ids.ts'
import { asSealedText } from '../../../runtime/secret-box.ts'
import {
  aNewFiring,
  aNewJob,
  anAttemptStart,
  aStoredBackfill,
  aStoredNode,
  aStoredSchedule,
  aVersion,
  entry,
  ROOMY_QUOTA
} from '../../../testing/builders.ts'
import type { Store } from '../../store.ts'
import { fillAlertFacts } from '../../testing/alert-facts.ts'
import { fillAlerts } from '../../testing/alerts.ts'
import { anAuditRecord } from '../../testing/audit.ts'

const FIRST = anAttemptNumber(1)
const RESULTS = ['succeeded', 'failed', 'lost', 'cancelled'] as const

/** Rows that Store methods create only after many steps. */
export const MORE_ROWS = `
  INSERT INTO chain_lines SELECT id, 'c' FROM jobs WHERE state = 'queued' LIMIT 3;
  INSERT INTO deleted_logs SELECT id, 1 FROM jobs LIMIT 3;
  INSERT INTO spider_findings SELECT 'shop', 'prices', min(id), 5, '[]', 0 FROM jobs;`

export async function fillStore(store: Store): Promise<void> {
  await store.putNode(aStoredNode({ id: 'node-1', tags: ['größer', '日本'] }))
  await store.putVersion(aVersion({ deployments: [] }))
  await store.putDeployment(branded('shop'), branded('1'), {
    ...branded({ nodeId: 'node-1', state: 'present', error: null, changedAtMs: 5, sha256: null })
  })
  await store.putProjectSettings(
    aProjectName('shop'),
    ProjectSettings.parse({ python: { kind: 'default' }, limits: null })
  )
  await store.putSetting('paused', false)
  await store.putWebhook({
    id: aWebhookId('a'.repeat(32)),
    kind: 'webhook',
    name: 'ours',
    url: 'https://example.org/',
    project: null,
    events: ['job.queued', 'job.started', 'job.ended'],
    enabled: true,
    createdAtMs: 5,
    sealedSecret: asSealedText('sealed'),
    sealedOldSecret: null,
    oldSecretUntilMs: null
  })
  await fillAlerts(store)
  await fillAlertFacts(store)
  const run = RunTemplate.parse({ project: 'shop', spiders: ['details'] })
  const chain = { name: 'after', enabled: true, project: aProjectName('*'), spider: '*', on: 'ended' as const, run }
  await store.putChain({ id: aChainId('c'.repeat(32)), settings: chain, createdAtMs: 5 })
  const schedule = aStoredSchedule({ id: '5'.repeat(32) })
  await store.putSchedule(schedule)
  await store.putBackfill(aStoredBackfill({ scheduleId: schedule.id }))
  await store.fire([aNewFiring(), aNewFiring({ state: 'skipped', reason: 'overlap' } as never)])
  await store.putStoragePolicy({ revision: 1, policy: {} } as never)
  await store.putLimits({
    revision: 1,
    rules: [{ id: 'a', project: null, spider: 'price*', tag: null, perNode: false, max: 3 }]
  })
  const role = 'operator' as const
  await store.putUser(
    branded({
      id: 'e'.repeat(32),
      name: 'anna',
      kind: 'person',
      role,
      projects: { shop: 'deployer' } as never,
      nodeGroups: { eu: 'admin' },
      enabled: true,
      passwordHash: 'argon2id 1,1,1 a b',
      createdAtMs: 1,
      sessionsSinceMs: 2,
      lastSeenAtMs: null,
      subject: 'oidc https://id.example.org 7',
      vouchedAtMs: 3
    })
  )
  const anna = branded<UserId>('e'.repeat(32))
  await store.putAuthenticator(
    branded({ userId: anna, sealedSecret: 'sealed', createdAtMs: 1, usedStep: 1, recoveryHashes: ['h1'] })
  )
  await store.addPasskey(
    branded({
      id: 'f'.repeat(32),
      userId: anna,
      credentialId: 'AbCd',
      name: 'laptop',
      host: 'deck.example.org',
      publicKey: 'pQEC',
      signCount: 0,
      createdAtMs: 1,
      lastUsedAtMs: null
    })
  )
  await store.putGroup(
    branded({
      id: 'd'.repeat(32),
      name: 'Crawl team',
      description: 'größer',
      role: null,
      projects: {},
      createdAtMs: 4,
      nodeGroups: { eu: 'operator' },
      members: ['e'.repeat(32)]
    })
  )
  await store.addAccessToken(
    branded({
      id: 'f'.repeat(32),
      userId: 'e'.repeat(32),
      name: 'laptop',
      role,
      projects: ['shop'],
      hash: 'c0ffee',
      nodeGroups: null,
      ending: 'ffee',
      createdAtMs: 1,
      expiresAtMs: null,
      lastUsedAtMs: 3
    })
  )
  await store.putRole({ name: 'größer', description: '', permissions: ['read', 'jobs.run'], createdAtMs: 5 })
  await store.appendAudit(anAuditRecord({ input: '{"name":"größer"}' }))
  await store.appendAudit(anAuditRecord({ project: 'shop', result: 'failed', code: 'BAD_INPUT' }))
  await store.claimAnswer(
    branded({ scope: 's', key: 'k', fingerprint: 'f', begunBy: 'run', nowMs: 0, expiresAtMs: 9e12, quota: ROOMY_QUOTA })
  )
  await store.putSource(
    branded({
      revision: 1,
      settings: { id: 'src', source: { kind: 'file', path: '/nodes' }, refreshSeconds: 30, node: {} },
      sealedPassword: null
    })
  )
  await store.putVanishedNodes([branded({ nodeId: 'node-9', sinceMs: 5, state: 'cordoned' })])
  await fillJobs(store, schedule.id)
}

async function fillJobs(store: Store, scheduleId: string): Promise<void> {
  const jobs = Array.from({ length: 360 }, (_, index) =>
    aNewJob({
      project: `shop-${index % 3}`,
      spider: index % 5 === 0 ? 'größe "\\"' : 'prices',
      args: index % 7 === 0 ? { text: 'zeilen\num\tbruch \u{1f40d} \u2028'.repeat(index) } : {},
      priority: index % 4 === 0 ? 1.1 + index / 3 : 0,
      ...(index % 9 === 0 ? { scheduleId, nominalMs: 1_000 + index } : {}),
      ...(index % 11 === 0 ? { noOverlap: true } : {}),
      ...(index % 13 === 0 ? { dedupe: { key: `key-${index}`, expiresAtMs: 9e12 } } : {})
    })
  )
  await store.enqueueJobs(jobs)
  const waiting = aNewJob({ project: 'shop', after: [{ jobId: jobs[300]!.id, on: 'succeeded' }] })
  await store.enqueueJobs([waiting])
  for (const [index, job] of jobs.slice(0, 120).entries()) {
    const begun = await store.beginAttempts([anAttemptStart(job)])
    if (begun.length === 0 || index % 10 === 9) continue
    const from = ['sending' as const]
    const change = { jobId: job.id, attemptNumber: FIRST, from, kind: 'ended' as const, entry: entry('ended') }
    const packed = index % 6 === 0 ? null : Buffer.from(Array.from({ length: index * 40 }, (_, at) => (at * 7) % 256))
    await store.markLogArchived(job.id, FIRST, { packed, sizes: { rawBytes: 900, storedBytes: 90 } } as never)
    const error = {
      fingerprint: `f${index % 4}`,
      title: 'KeyError',
      culprit: 'in parse',
      exceptionType: null,
      because: 'frames',
      count: 2,
      firstSeenMs: 5_000_000,
      lastSeenMs: 6_000_000,
      line: 12,
      offset: 900,
      message: 'it failed'
    }
    const figures = { jobId: job.id, attemptNumber: FIRST, figures: '{"pages":7}', errors: [error] }
    await store.recordReadings([figures as never])
    await store.recordLogBlocks([
      {
        jobId: job.id,
        number: FIRST,
        blocks: { rawBytes: 900, firstBlock: null, wholeBlocks: 0, tailBlock: 7 },
        log: { storedBytes: 90 }
      }
    ])
    await store.recordItems(
      branded({
        jobId: job.id,
        number: 1,
        project: job.project,
        spider: job.spider,
        endedAtMs: 5_000,
        sizes: { rawBytes: 900, storedBytes: 90 },
        problem: null,
        deletedAtMs: null
      })
    )
    await store.applyChanges([{ ...change, to: 'ended', result: RESULTS[index % 4]! }])
  }
}
