import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'

const module = new URL('./stop-on-signals.mjs', import.meta.url).href
const PROGRAM = `import { stopOnSignals } from '${module}'
stopOnSignals(async () => {
  console.log('stopping')
  await new Promise((wake) => setTimeout(wake, 300))
  console.log('stopped')
})
setInterval(() => {}, 1000)
console.log('ready')`

test.skipIf(process.platform === 'win32').each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
  '%s stops in order, and what comes twice does not end it before',
  async (signal) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
      stdio: ['ignore', 'pipe', 'inherit']
    })
    let printed = ''
    child.stdout.on('data', (piece) => (printed += piece))
    const exited = once(child, 'exit')
    await expect.poll(() => printed, { timeout: 10_000 }).toContain('ready')
    child.kill(signal)
    await expect.poll(() => printed, { timeout: 10_000 }).toContain('stopping')
    // As with Ctrl-C: the signal reaches the whole group, npm forwards it, and then npm's shell ends.
    child.kill(signal)
    child.kill('SIGTERM')
    expect([await exited, printed]).toEqual([[0, null], 'ready\nstopping\nstopped\n'])
  }
)
