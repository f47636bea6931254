import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { aSpiderEgg } from '../../src/engine/testing/spider-egg.ts'
import { until } from '../../src/engine/testing/until.ts'
import { makeTemporaryDirectory } from '../../src/engine/testing/temporary-directory.ts'
import { uploadDemo } from '../support/demo-egg.ts'
import { startService } from '../support/service.ts'
import { TALKS } from '../support/talking-spider.ts'

/**
 * Logs, items and the data of a warm parent have the same file modes as in Scrapyd, but their directories are closed
 * to others.
 */
const IN_CLOSED = /^local\/(logs|items|warm)\/.+\.(log|jl|json) /

async function openToOthers(directory: string): Promise<string[]> {
  const found: string[] = []
  for (const name of ['', ...(await readdir(directory, { recursive: true }))]) {
    const info = await lstat(join(directory, name))
    if (info.isSymbolicLink() || (info.mode & 0o077) === 0) continue
    found.push(`${name} ${(info.mode & 0o777).toString(8)}`)
  }
  return found.filter((line) => !IN_CLOSED.test(line)).sort()
}

test.skipIf(process.platform === 'win32')(
  'other users cannot read anything that the service and its spiders create in the data directory, even with a umask of 0',
  async () => {
    const temporary = await makeTemporaryDirectory()
    onTestFinished(temporary.remove)
    const data = join(temporary.path, 'data')
    const before = process.umask(0)
    onTestFinished(() => void process.umask(before))
    const service = await startService({ dataDirectory: data })
    onTestFinished(() => service.stop())
    const { client } = service
    await uploadDemo(service, '1')
    const file = await aSpiderEgg(TALKS)
    await client.projects.upload({ file, project: 'talks', version: '1' })
    await client.projects.changeSettings({ project: 'talks', settings: { keepItems: true } })
    const { jobs } = await client.jobs.run({ project: 'talks', spiders: ['talks'] })
    const { id } = jobs[0]!
    await until(
      'the run to end',
      async () => (await client.jobs.get({ id })).job.status,
      (status) => status === 'succeeded',
      60_000
    )
    await client.items.describe({ jobId: id })
    for await (const { matches } of await client.logs.search({ jobId: id, text: 'talk' }))
      expect(matches).toBeGreaterThan(-1)
    expect(await openToOthers(data)).toEqual([])
    await service.kill()
    await service.start()
    expect(await openToOthers(data)).toEqual([])
  },
  120_000
)
