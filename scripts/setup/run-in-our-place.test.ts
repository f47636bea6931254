import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'

const module = new URL('./run-in-our-place.mjs', import.meta.url).href
const PROGRAM = `process.on('SIGTERM', () => {
  require('node:fs').appendFileSync(process.argv[1], 'ended')
  process.exit(7)
})
console.log(process.pid)
setInterval(() => {}, 1000)`

async function start(shell: string[]) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'scrapdeck-place-'))
  onTestFinished(() => fs.rmSync(directory, { recursive: true, force: true }))
  const note = path.join(directory, 'note')
  const words = JSON.stringify(['-e', PROGRAM, note])
  const script = path.join(directory, 'script.mjs')
  fs.writeFileSync(
    script,
    `import { runInOurPlace } from '${module}'\nprocess.exit(await runInOurPlace(process.execPath, ${words}))`
  )
  const [command = '', ...args] = [...shell, process.execPath, script]
  const env = { ...process.env, npm_lifecycle_event: 'serve' }
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const [pid] = (await once(child.stdout, 'data')) as [Buffer]
  onTestFinished(() => endIfAlive(Number(pid)))
  return { child, note: () => (fs.existsSync(note) ? fs.readFileSync(note, 'utf8') : '') }
}

function endIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The program has ended, as it should.
  }
}

describe.skipIf(process.platform === 'win32')('a program that runs in our place', () => {
  test('gets our signal, and its exit code becomes ours', async () => {
    const { child } = await start([])
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([7, null])
  })

  test("ends when npm's shell was ended by a signal", async () => {
    // `true` is needed, because a shell replaces itself with its last command.
    const { child, note } = await start(['sh', '-c', '"$0" "$1"; true'])
    child.kill('SIGTERM')
    await once(child, 'exit')
    await expect.poll(note, { timeout: 10_000 }).toBe('ended')
  })
})
