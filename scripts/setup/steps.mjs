/** Shows one line per step. The full output goes to a file under .cache/logs and appears only if the step fails. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { childEnvironment, isWindows, rootDirectory, stepLogDirectory } from './platform.mjs'

const SHOWN_LINES = 60
const STILL_RUNNING_EVERY_MS = 30_000

export class StepFailed extends Error {
  /**
   * @param {string} title
   * @param {string} message
   * @param {string} [output]
   */
  constructor(title, message, output = '') {
    super(message)
    this.title = title
    this.output = output
  }
}

/** @type {Map<string, number>} title -> when it began */
const running = new Map()
/** @type {NodeJS.Timeout | undefined} one for all of them */
let redraw

/**
 * Shows `title` and the elapsed time while `work` runs.
 * @template T
 * @param {string} title
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work) {
  const beganAt = performance.now()
  running.set(title, beganAt)
  redraw ??= process.stdout.isTTY ? setInterval(drawRunning, 1000) : setInterval(printRunning, STILL_RUNNING_EVERY_MS)
  drawRunning()
  try {
    const result = await work()
    finish(title, '✓', beganAt)
    return result
  } catch (error) {
    finish(title, '✗', beganAt)
    throw error
  }
}

/**
 * Runs one program as one step.
 * @param {object} options
 * @param {string} options.title
 * @param {string} options.command
 * @param {string[]} options.args
 * @param {string} [options.next] what to do when it fails
 * @param {string} [options.cwd]
 * @param {Record<string, string>} [options.env]
 * @param {number} [options.timeLimitMs]
 * @returns {Promise<string>} what it printed
 */
export function commandStep(options) {
  return step(options.title, () => runCommand(options))
}

/**
 * @param {Parameters<typeof commandStep>[0]} options
 * @returns {Promise<string>}
 */
export function runCommand({ title, command, args, next, cwd = rootDirectory, env = {}, timeLimitMs }) {
  fs.mkdirSync(stepLogDirectory, { recursive: true })
  const logFile = path.join(stepLogDirectory, `${title.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.log`)
  const log = fs.createWriteStream(logFile)
  const shownLog = path.relative(rootDirectory, logFile)
  return new Promise((resolve, reject) => {
    let output = ''
    let tooLong = false
    // npm is a .cmd on Windows and needs a shell. No other program that we run does.
    const shell = isWindows && command.endsWith('.cmd')
    // Has its own process group, so a time limit or Ctrl-C also reaches grandchildren.
    const child = spawn(command, args, {
      cwd,
      shell,
      detached: !isWindows,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...childEnvironment(), ...env }
    })
    const forget = endWithUs(child)
    const limit = timeLimitMs
      ? setTimeout(() => {
          tooLong = true
          endGroup(child, 'SIGKILL')
        }, timeLimitMs)
      : null
    const keep = (/** @type {Buffer} */ piece) => {
      log.write(piece)
      output = (output + piece).slice(-200_000)
    }
    child.stdout.on('data', keep)
    child.stderr.on('data', keep)
    child.on('error', (error) => settle(`${command} could not be started: ${error.message}`))
    child.on('close', (code, signal) => {
      if (tooLong) settle(`took longer than ${Math.round((timeLimitMs ?? 0) / 1000)} s and was stopped`)
      else if (code !== 0) settle(`ended with ${signal ?? `code ${code}`}`)
      else settle(null)
    })
    const settle = (/** @type {string | null} */ failure) => {
      if (limit) clearTimeout(limit)
      forget()
      log.end()
      if (failure === null) return resolve(output)
      const hint = next ? `\n  What to do: ${next}` : ''
      reject(new StepFailed(title, `${title}: ${failure}. Whole output: ${shownLog}${hint}`, output))
    }
  })
}

/** Prints a line that is not a step. @param {string} text */
export function say(text) {
  clearLine()
  console.log(text)
}

/**
 * Prints why a script failed, with the last lines of the failing program's output.
 * @param {unknown} error
 */
export function showFailure(error) {
  clearLine()
  if (!(error instanceof StepFailed)) {
    console.error(error)
    return
  }
  const lines = error.output.trimEnd().split('\n')
  if (lines.length > SHOWN_LINES) console.error(`  … ${lines.length - SHOWN_LINES} earlier lines are in the log`)
  if (error.output.trim() !== '') console.error(lines.slice(-SHOWN_LINES).join('\n'))
  console.error(`\n${error.message}`)
}

/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set()
const interrupted = () => process.exit(130)

/** No process we start may outlive us. @param {import('node:child_process').ChildProcess} child */
function endWithUs(child) {
  if (children.size === 0) {
    process.on('exit', endChildren)
    process.on('SIGINT', interrupted)
    process.on('SIGTERM', interrupted)
  }
  children.add(child)
  return () => {
    children.delete(child)
    if (children.size > 0) return
    process.off('exit', endChildren)
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', interrupted)
  }
}

function endChildren() {
  for (const child of children) endGroup(child, 'SIGTERM')
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @param {NodeJS.Signals} signal
 */
function endGroup(child, signal) {
  if (child.pid === undefined) return
  try {
    if (isWindows) child.kill(signal)
    else process.kill(-child.pid, signal)
  } catch (error) {
    // The process ended before the signal was sent.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
  }
}

/** @param {string} title @param {string} sign @param {number} beganAt */
function finish(title, sign, beganAt) {
  running.delete(title)
  if (running.size === 0) {
    clearInterval(redraw)
    redraw = undefined
  }
  say(`${sign} ${title} ${seconds(beganAt)}`)
  drawRunning()
}

/** On a terminal, the last line shows the running steps. */
function drawRunning() {
  if (!process.stdout.isTTY || running.size === 0) return
  clearLine()
  process.stdout.write(`… ${runningText()}`.slice(0, (process.stdout.columns || 80) - 1))
}

/** Without a terminal (as in CI), an occasional line shows that the steps are still running. */
function printRunning() {
  console.log(`… ${runningText()}`)
}

function runningText() {
  return [...running].map(([title, beganAt]) => `${title} ${seconds(beganAt)}`).join(' · ')
}

function clearLine() {
  if (process.stdout.isTTY) process.stdout.write('\r\x1b[2K')
}

/** @param {number} beganAt */
function seconds(beganAt) {
  return `${((performance.now() - beganAt) / 1000).toFixed(1)} s`
}
