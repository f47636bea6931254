import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Job, NodeId } from '../../src/shared/contract/index.ts'
import { readArchive } from '../../src/engine/testing/archives.ts'
import { until } from '../../src/engine/testing/until.ts'
import { LOCAL_NODE_ID } from '../../src/shared/ids.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { TEST_CREDENTIALS } from '../support/service.ts'
import { PROJECT } from './ends-project.ts'
import { type PruningNode, startPruningNode } from './pruning-node.ts'

let world: PruningNode
let scrapyd: PruningNode['scrapyd']
let service: PruningNode['service']
let remote: NodeId

beforeAll(async () => {
  world = await startPruningNode({ slots: 4, localSlots: 2 })
  ;({ scrapyd, service, remote } = world)
  await service.client.projects.changeSettings({ project: PROJECT, settings: { keepItems: true } })
}, 120_000)
afterAll(() => world?.stop())

const runAll = (nodeId: NodeId, count: number): Promise<Job[]> =>
  Promise.all(Array.from({ length: count }, async () => world.ended(await world.runOn(nodeId, 'fine'))))

const headers = { authorization: basicAuthorization(TEST_CREDENTIALS) }

async function expectKept({ id, jobid, outcome }: Job): Promise<void> {
  expect(outcome).toBe('succeeded')
  expect(await service.client.items.describe({ jobId: id, count: true })).toMatchObject({ from: 'archive', items: 12 })
  const address = `${service.address}/items/${PROJECT}/fine/${jobid}.jl`
  const whole = await (await fetch(address, { headers })).text()
  expect(
    whole
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
  ).toHaveLength(12)
  const part = await fetch(address, { headers: { ...headers, range: 'bytes=3-20' } })
  const sizeBytes = Buffer.byteLength(whole)
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 3-20/${sizeBytes}`])
  expect(Buffer.from(await part.arrayBuffer())).toEqual(Buffer.from(whole).subarray(3, 21))
}

test('items that a Scrapyd with jobs_to_keep = 1 deletes are served from the archive, even without the node', async () => {
  const jobs = await runAll(remote, 4)
  await scrapyd.kill()
  try {
    for (const job of jobs) await expectKept(job)
    const listed = await (await fetch(`${service.address}/items/${PROJECT}/fine/`, { headers })).text()
    for (const { jobid } of jobs) expect(listed).toContain(`${jobid}.jl`)
  } finally {
    await scrapyd.restart()
  }
}, 180_000)

test('the log of a run stays readable as far as it was copied when its node dies and is removed', async () => {
  const { client } = service
  const id = await world.runOn(remote, 'long', { seconds: '120' })
  // Scrapdeck reads the log every ten seconds while the job runs.
  await until('its first items', async () => ((await client.jobs.figures({ id }).catch(() => null))?.items ?? 0) > 0)
  await scrapyd.kill()
  const read = async () => (await client.logs.read({ jobId: id, offset: 0, limitBytes: 100_000 })).text
  expect(await read()).toContain('number 1 of 600')
  await client.nodes.remove({ id: remote, force: true })
  const { outcome, status } = await world.ended(id)
  expect([outcome, status]).toEqual(['lost', 'lost'])
  expect(await read()).toContain('number 1 of 600')
}, 120_000)

test('items of the local node are kept in the same way', async () => {
  for (const job of await runAll(LOCAL_NODE_ID as NodeId, 2)) await expectKept(job)
}, 120_000)

test('the logs of many jobs are downloaded as one archive that any program can read', async () => {
  const jobs = await runAll(LOCAL_NODE_ID as NodeId, 2)
  const answer = await fetch(`${service.address}/api/v1/logs/zip`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ jobIds: [...jobs.map(({ id }) => id), 'f'.repeat(32)] })
  })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/zip'])
  const files = await readArchive(Buffer.from(await answer.arrayBuffer()))
  for (const { jobid } of jobs)
    expect(String(files.get(`${PROJECT}/fine/${jobid}.log`))).toContain('Spider closed (finished)')
  expect(String(files.get('INDEX.txt'))).toContain(`${'f'.repeat(32)}\t-\tmissing: there is no such job`)
  const refusals = [{}, { jobIds: [] }, { jobIds: [jobs[0]!.id], format: 'tar' }]
  for (const body of refusals) {
    const refused = await fetch(`${service.address}/api/v1/logs/zip`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body)
    })
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([400, 'BAD_INPUT'])
  }
}, 120_000)
