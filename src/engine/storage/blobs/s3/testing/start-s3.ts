import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { request } from 'undici'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readTestEnvironment } from '../../../../../../scripts/setup/test-environment.mjs'
import { freePort, ServerProcess } from '../../../../testing/server-process.ts'
import { until } from '../../../../testing/until.ts'

export const S3_KEYS = { AWS_ACCESS_KEY_ID: 'scrapdeck', AWS_SECRET_ACCESS_KEY: 'a secret for tests' }
export const S3_BUCKET = 'crawls'

export interface S3Server {
  endpoint: string
  directory: string
  start(): Promise<void>
  kill(): Promise<void>
  stop(): Promise<void>
}

/** Why no server can be started here; null: one can be started. */
export const whyNoS3 = (): string | null =>
  readTestEnvironment().s3?.program == null ? 'the test environment has no S3 server' : null

export async function startS3(): Promise<S3Server> {
  const { program } = readTestEnvironment().s3!
  const root = mkdtempSync(join(tmpdir(), 'scrapdeck-s3-'))
  const [objects, metadata] = [join(root, 'objects'), join(root, 'metadata')]
  for (const folder of [objects, metadata, join(objects, S3_BUCKET)]) mkdirSync(folder)
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  const keys = ['--access', S3_KEYS.AWS_ACCESS_KEY_ID, '--secret', S3_KEYS.AWS_SECRET_ACCESS_KEY]
  const place = ['--port', `127.0.0.1:${port}`, '--quiet', '--keep-alive']
  const server = new ServerProcess(program!, [...keys, ...place, 'posix', '--sidecar', metadata, objects])

  async function start(): Promise<void> {
    server.start()
    const isReady = () =>
      request(endpoint).then(
        ({ body }) => body.dump().then(() => true),
        () => false
      )
    await until('the S3 server', isReady, Boolean, 30_000)
  }
  await start()
  return {
    endpoint,
    start,
    kill: () => server.kill(),
    directory: join(objects, S3_BUCKET),
    async stop() {
      await server.kill()
      rmSync(root, { recursive: true, force: true })
    }
  }
}
