import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { isAlive, readStartTime } from './process-identity.ts'

test('a process is known by its pid and start time together, until it ends', async () => {
  const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], { stdio: 'ignore' })
  const identity = { pid: child.pid!, startTime: (await readStartTime(child.pid!))! }
  expect(identity.startTime).not.toBe('')
  expect(await isAlive(identity)).toBe(true)
  expect(await isAlive({ ...identity, startTime: 'another boot:1' })).toBe(false)
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(await isAlive(identity)).toBe(false)
})

test('a process that ended but was not reaped is not alive', async () => {
  // The shell starts a child that ends immediately, and becomes a program that never waits for it.
  const parent = spawn('sh', ['-c', 'true & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
  const [line] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(line.toString())
  await expect.poll(() => readStartTime(pid)).toBeNull()
  parent.kill('SIGKILL')
})
