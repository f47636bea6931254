import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SshWorld, type SshServer, whyNoSsh } from '../../src/engine/nodes/ssh/testing/ssh-world.ts'
import { until } from '../../src/engine/testing/until.ts'
import type { NodeId } from '../../src/shared/contract/index.ts'
import { aProjectName, aVersionName } from '../../src/shared/testing/ids.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { type Scrapyd, startScrapyd } from '../support/scrapyd-fleet.ts'
import { type Service, startService } from '../support/service.ts'
import { isCore } from '../../scripts/test-length.mjs'

describe.skipIf(whyNoSsh() !== null)('a service whose only Scrapyd is behind an SSH host', () => {
  let world: SshWorld
  let host: SshServer
  let scrapyd: Scrapyd
  let service: Service
  let id: NodeId
  beforeAll(async () => {
    world = new SshWorld()
    ;[host, scrapyd] = await Promise.all([world.startServer(), startScrapyd({ username: 'ann', password: 'secret' })])
    service = await startService({ localSlots: 0, environment: { SCRAPDECK_SSH_PROGRAM: world.program } })
    const inner = scrapyd.url.replace('http://', 'http://ann:secret@')
    ;({ id } = await service.client.nodes.add({ url: `${host.url}/${inner}`, slots: 2 }))
  }, 120_000)
  afterAll(async () => {
    await service?.stop()
    await scrapyd?.stop()
    await world.close()
  })

  const node = () => service.client.nodes.get({ id })
  const isUp = () => until('the node to be up', node, ({ health }) => health === 'up')
  const run = async (args: Record<string, string> = {}) => {
    const names = { project: aProjectName('demo'), spiders: ['quotes'], version: aVersionName('1') }
    const { jobs } = await service.client.jobs.run({ ...names, args } as never)
    return jobs[0]!.id
  }
  const endOf = (job: Awaited<ReturnType<typeof run>>) =>
    until(
      'the end of the run',
      () => service.client.jobs.status({ id: job }),
      ({ state }) => state === 'ended',
      60_000
    )

  test('shows the tunnel but no passwords, and cannot reach the node without the tunnel', async () => {
    const { tunnel, url, name, username } = await isUp()
    expect(tunnel).toMatchObject({ state: 'up', problem: null, host: host.url.replace('ssh://', '') })
    expect({ url, username }).toEqual({ url: `${host.url}/${scrapyd.url}`, username: 'ann' })
    // A Scrapyd on the SSH host itself is named after the host.
    expect(name).toBe('127.0.0.1')
  })

  test('deploys and runs jobs there, and reads their logs and outcomes', async () => {
    await uploadDemo(service, '1')
    const job = await run()
    expect(await endOf(job)).toMatchObject({ outcome: 'succeeded' })
  })

  test.skipIf(isCore)(
    'a run continues while the connection is broken, and its end is noticed once the connection is back',
    async () => {
      const job = await run()
      await until(
        'the run to start',
        () => service.client.jobs.status({ id: job }),
        ({ state }) => state === 'running'
      )
      await host.kill()
      const away = await until('the node to be down', node, ({ health }) => health === 'down')
      expect(away.tunnel).toMatchObject({ state: expect.stringMatching(/down|connecting/) })
      expect(away.problem).toMatch(/closed the connection|no SSH server listens/)
      await host.start()
      expect(await endOf(job)).toMatchObject({ outcome: 'succeeded' })
    }
  )

  test.skipIf(isCore)('a killed service leaves no ssh process behind, and the next one connects again', async () => {
    await isUp()
    await service.kill()
    await until('its ssh to end', () => host.connections() === 0)
    await service.start()
    expect((await isUp()).tunnel).toMatchObject({ state: 'up' })
  })
})
