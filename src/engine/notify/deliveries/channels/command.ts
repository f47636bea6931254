import { execFile, spawn } from 'node:child_process'
import type { Clock } from '../../../runtime/clock.ts'
import type { SendResult } from '../plan-try.ts'
import type { Sender } from './message.ts'
import { oneLine } from './words.ts'

export interface AlertCommand {
  name: string
  program: string
  args: readonly string[]
}

const TIME_LIMIT_MS = 10_000
/** The limit for both outputs together. */
const OUTPUT_MAX_BYTES = 65_536
const KEPT_BYTES = 2_000
/** How long to wait for output after the exit. A process that left the group can keep our pipes open. */
const DRAIN_MS = 1_000
/** The variables that a program inherits. Any other variable could contain passwords of the service. */
const PASSED_ON =
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR|TEMP|TMP|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT|USERPROFILE|APPDATA|LOCALAPPDATA|(HTTP|HTTPS|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|DBUS_SESSION_BUS_ADDRESS|XDG_RUNTIME_DIR|DISPLAY|WAYLAND_DISPLAY)$/i

/** Runs the command with the message as its input. The message counts as delivered if the command exits with 0. */
export const commandSender =
  (commands: readonly AlertCommand[], clock: Clock): Sender<'command'> =>
  async ({ target, body, say }) => {
    const command = commands.find(({ name }) => name === target.command)
    if (command === undefined)
      return { isGood: false, answer: `alert_commands in the configuration does not name ${target.command} any more` }
    say(`> ${command.program} (${Buffer.byteLength(body)} bytes of input)`)
    const result = await run(command, body, clock)
    say(`< ${result.answer}`)
    return result
  }

function run({ program, args }: AlertCommand, input: string, clock: Clock): Promise<SendResult> {
  const { promise, resolve } = Promise.withResolvers<SendResult>()
  const child = spawn(program, args, {
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED_ON.test(name))),
    detached: process.platform !== 'win32',
    windowsHide: true,
    stdio: ['pipe', 'pipe', 'pipe']
  })
  let receivedBytes = 0
  let said = ''
  let stopped: string | null = null
  const stop = (why: string) => {
    stopped ??= why
    if (child.pid !== undefined) killGroup(child.pid)
  }
  const timer = clock.setTimer(TIME_LIMIT_MS, () => stop(`ended after ${TIME_LIMIT_MS / 1000} s`))
  const receive = (piece: Buffer) => {
    receivedBytes += piece.length
    said = (said + piece.toString('utf8')).slice(-KEPT_BYTES)
    if (receivedBytes > OUTPUT_MAX_BYTES) stop('ended because it wrote too much')
  }
  child.stdout.on('data', receive)
  child.stderr.on('data', receive)
  child.stdin.on('error', () => {
    // The program can end without reading its input. Its exit code says whether that was intended.
  })
  child.stdin.end(input)
  let drain = { cancel() {} }
  child.once('exit', () => {
    drain = clock.setTimer(DRAIN_MS, () => {
      child.stdout.destroy()
      child.stderr.destroy()
    })
  })
  const settle = (result: SendResult) => {
    timer.cancel()
    drain.cancel()
    resolve(result)
  }
  child.once('error', (error: NodeJS.ErrnoException) =>
    settle({ isGood: false, answer: `${program} cannot be started (${error.code ?? error.message})` })
  )
  child.once('close', (code, signal) => {
    const end = stopped ?? (code === null ? `ended by ${signal}` : `exit code ${code}`)
    const words = oneLine(said.trim().split('\n').at(-1) ?? '', 200)
    settle({ isGood: stopped === null && code === 0, answer: words === '' ? end : `${end}: ${words}` })
  })
  return promise
}

function killGroup(pid: number): void {
  if (process.platform === 'win32') return void execFile('taskkill', ['/PID', String(pid), '/T', '/F'])
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The process group may have ended already.
  }
}
