import type { Client } from '../../e2e/support/service.ts'
import { buildHostileEgg } from '../../src/engine/nodes/local/isolation/testing/hostile-egg.ts'
import { until } from '../../src/engine/testing/until.ts'
import type { JobId } from '../../src/shared/contract/index.ts'

const RUN_LIMIT_MS = 90_000
/** The attacks of attempts.py on a process. */
const ON_PROCESS = ['read_environment', 'list_open_files', 'signal_process', 'trace']
const SPIDERS = 'honest,probe,sleeping'

async function upload(client: Client, project: string, wanted: readonly string[]): Promise<void> {
  const file = new File([new Uint8Array(await buildHostileEgg(wanted))], `${project}.egg`)
  await client.projects.upload({ file, project, version: '1' })
}

export async function startSpider(
  client: Client,
  project: string,
  spider: string,
  args: Record<string, string>
): Promise<JobId> {
  const local = (await client.nodes.list()).nodes.find(({ kind }) => kind === 'local')!
  const { jobs } = await client.jobs.run({ project, spiders: [spider], args, nodeId: local.id })
  return jobs[0]!.id
}

export async function statusOf(client: Client, id: JobId) {
  return (await client.jobs.get({ id })).job.status
}

export async function untilStatus(client: Client, id: JobId, wanted: string): Promise<void> {
  await until(
    `the job to be ${wanted}`,
    () => statusOf(client, id),
    (status) => status === wanted,
    RUN_LIMIT_MS
  )
}

export async function logOf(client: Client, jobId: JobId): Promise<string> {
  return (await client.logs.read({ jobId, offset: 0, limitBytes: 1_000_000 })).text
}

/**
 * `data` is the data directory, `engine` is the service's pid as spiders would see it, and `secrets` are further files.
 * Returns the number of attempts and the attempts that succeeded.
 */
export async function runHostileEgg(
  client: Client,
  given: { data: string; engine: number | null; secrets: readonly string[]; more?: readonly unknown[][] }
): Promise<{ tried: number; got: string[] }> {
  const { data, engine, more = [] } = given
  const secrets = [...['scrapdeck.sqlite', 'secret.key'].map((name) => `${data}/${name}`), ...given.secrets]
  await upload(client, 'other', [])
  const honest = await startSpider(client, 'other', 'honest', {})
  await untilStatus(client, honest, 'succeeded')
  // When its spiders are listed, the egg reports what it has stolen as names of spiders.
  await upload(client, 'hostile', secrets)
  const { spiders } = (await client.projects.get({ project: 'hostile' })).versions[0]!
  const stolen = spiders?.join() === SPIDERS ? [] : [`in its listing: ${spiders?.join()}`]
  const files = [
    ...secrets,
    `${data}/local/items/other/honest/${honest}.jl`,
    `${data}/local/logs/other/honest/${honest}.log`,
    `${data}/local/work/other/kept.txt`
  ]
  const targets = [
    ...files.map((file) => [`reads ${file}`, 'read', [file]]),
    ...files.map((file) => [`changes ${file}`, 'write', [file]]),
    ['lists the data directory', 'list_directory', [data, 'scrapdeck.sqlite']],
    ...(engine === null ? [] : ON_PROCESS.map((name) => [`${name} on the service`, name, [engine]])),
    ['finds the password of the service', 'find_in_environment', ['SCRAPDECK_PASSWORD']],
    ['changes its runner', 'write', ['/opt/scrapdeck/resources/python/crawl.py']],
    ['becomes root', 'make_root', []],
    ...more
  ]
  const probe = await startSpider(client, 'hostile', 'probe', { targets: JSON.stringify(targets) })
  await untilStatus(client, probe, 'succeeded')
  const found = /ANSWERS (\{.*\})/.exec(await logOf(client, probe))?.[1]
  if (found === undefined) throw new Error('The hostile spider did not say what it got')
  const answers = JSON.parse(found) as Record<string, unknown>
  const got = Object.keys(answers).filter((label) => answers[label] === true)
  return { tried: Object.keys(answers).length + 1, got: [...stolen, ...got] }
}
