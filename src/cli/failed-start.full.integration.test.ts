import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { SERVICE_ENTRY } from '../../e2e/support/service.ts'
import { EXIT_CODES } from './client/exit-codes.ts'
import { makeDirectory, startServer } from './testing/call.ts'

it('a service whose storage only fails says so, and exits with an error after enough tries', async () => {
  let asked = 0
  const endpoint = await startServer((_request, response) => {
    asked += 1
    response.writeHead(503).end()
  })
  const blobs = `--blobs=s3://bucket/p?endpoint=${endpoint}&style=path`
  const data = `--data=${makeDirectory()}`
  const child = spawn(process.execPath, [SERVICE_ENTRY, 'serve', '--port=0', '--local-slots=0', data, blobs], {
    env: { ...process.env, AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_REGION: 'eu-1' }
  })
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  expect([code, said]).toEqual([EXIT_CODES.failed, expect.stringContaining('cannot be used')])
  expect(asked).toBeGreaterThan(1)
})
