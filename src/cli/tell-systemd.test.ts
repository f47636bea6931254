import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../engine/runtime/logger.ts'
import { makeTemporaryDirectory } from '../engine/testing/temporary-directory.ts'
import { takeSystemdSocket } from './tell-systemd.ts'

test.skipIf(process.platform === 'win32')(
  'systemd is notified once the service is ready, and child processes do not get its socket',
  async () => {
    const directory = await makeTemporaryDirectory()
    onTestFinished(directory.remove)
    const program = join(directory.path, 'systemd-notify')
    writeFileSync(program, `#!/bin/sh\necho "$NOTIFY_SOCKET $*" > "${directory.path}/told"\n`)
    chmodSync(program, 0o755)
    const environment: NodeJS.ProcessEnv = { PATH: `${directory.path}:/usr/bin:/bin`, NOTIFY_SOCKET: '/run/notify' }
    const tell = takeSystemdSocket(environment)
    expect(environment).not.toHaveProperty('NOTIFY_SOCKET')
    await tell(silentLogger)
    expect(readFileSync(join(directory.path, 'told'), 'utf8')).toBe('/run/notify --ready\n')
  }
)

test('without systemd nothing is notified; if its program is missing, the service continues', async () => {
  await takeSystemdSocket({})(silentLogger)
  const errors: string[] = []
  const logger = { ...silentLogger, error: (_facts: object, text: string) => void errors.push(text) }
  await takeSystemdSocket({ PATH: '/nonexistent', NOTIFY_SOCKET: '/run/notify' })(logger)
  expect(errors).toEqual([expect.stringContaining('systemd-notify failed')])
})
