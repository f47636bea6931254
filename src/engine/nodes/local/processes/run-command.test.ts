import { expect, test } from 'vitest'
import { systemClock } from '../../../runtime/clock.ts'
import { isAlive, readStartTime } from '../../../runtime/process-identity.ts'
import { runCommand } from './run-command.ts'
import { isCore } from '../../../../../scripts/test-length.mjs'

function run(script: string, over: Partial<Parameters<typeof runCommand>[0]> = {}) {
  return runCommand({
    command: process.execPath,
    args: ['-e', script],
    environment: process.env,
    timeLimitMs: 20_000,
    stdoutLimitBytes: 1000,
    clock: systemClock,
    ...over
  })
}

test('the result has the output of a command and how it ended', async () => {
  const result = await run("console.log('out'); console.error('err'); process.exitCode = 3")
  expect(result).toEqual({ code: 3, signal: null, stdout: 'out\n', stderr: 'err\n', stoppedFor: null })
})

test('lines are passed on as they arrive', async () => {
  const lines: string[] = []
  await run("process.stdout.write('a\\nb'); process.stdout.write('c\\n')", { onLine: (line) => lines.push(line) })
  expect(lines).toEqual(['a', 'bc'])
})

test('a command that prints too much is stopped', async () => {
  expect(await run("for (;;) console.log('x'.repeat(100))")).toMatchObject({ code: null, stoppedFor: 'output' })
})

test('an aborted command is stopped', async () => {
  const controller = new AbortController()
  const result = run("console.log('go'); setInterval(() => {}, 1000)", {
    signal: controller.signal,
    onLine: () => controller.abort()
  })
  expect(await result).toMatchObject({ code: null, stoppedFor: 'abort' })
})

test.skipIf(isCore)('the time limit stops a command with all processes that it started', async () => {
  let grandchild = 0
  const script = `const child = require('node:child_process').spawn('sleep', ['60']); console.log(child.pid)
    setInterval(() => {}, 1000)`
  const result = await run(script, { timeLimitMs: 1500, onLine: (line) => (grandchild = Number(line)) })
  expect(result).toMatchObject({ code: null, stoppedFor: 'time' })
  expect(grandchild).toBeGreaterThan(0)
  const startTime = await readStartTime(grandchild)
  await expect.poll(() => isAlive({ pid: grandchild, startTime: startTime ?? 'gone' })).toBe(false)
})

test.skipIf(isCore)('a grandchild that left the group and keeps the output open delays nothing', async () => {
  const script = `const child = require('node:child_process').spawn('sleep', ['60'], { detached: true, stdio: 'inherit' })
    console.log(child.pid); child.unref(); process.exit(0)`
  const result = await run(script)
  expect(result).toMatchObject({ code: 0, stoppedFor: null })
  process.kill(Number(result.stdout), 'SIGKILL')
})

test('a command that cannot be started rejects', async () => {
  await expect(run('', { command: '/nowhere/python' })).rejects.toThrow('ENOENT')
})
