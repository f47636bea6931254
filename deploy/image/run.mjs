/**
 * The image's entry point: `serve` runs the service, anything else is a command of the command line.
 *
 * The end of a container kills everything in it, so a stop first ends the service (nothing new is started, and no run is
 * cancelled), then waits for the spiders of the local node. The next start reads from their directories how they ended.
 * The wait ends with the last spider, or when the container's grace period ends.
 */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'

const POLL_MS = 250
const program = fileURLToPath(new URL('out/service/scrapdeck.js', import.meta.url))
const words = process.argv.slice(2)
const isService = words.length === 0 || words[0] === 'serve' || words[0]?.startsWith('-')
const command = isService && words[0] !== 'serve' ? ['serve', ...words] : words

// Whether a container may make namespaces is for whoever runs it to decide: where it may not, the overview says so.
if (isService) process.env['SCRAPDECK_KEEP_SPIDERS_APART'] ??= process.getuid?.() === 0 ? 'users' : 'if-possible'
// Root gives each project a user of its own, who has to get through the volume.
if (process.getuid?.() === 0 && isService) {
  if (fs.existsSync('/var/lib/scrapdeck')) fs.chmodSync('/var/lib/scrapdeck', 0o711)
}

// By default V8 gives the young generation 128 MB on a large machine.
const child = spawn(process.execPath, ['--max-semi-space-size=16', program, ...command], { stdio: 'inherit' })
let signals = 0
for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
  process.on(signal, () => {
    signals++
    // The second signal is for those who do not want to wait for spiders.
    if (signals > 1 && child.exitCode !== null) process.exit(1)
    child.kill(signal)
  })
}
child.on('error', (error) => {
  console.error(`The service cannot be started: ${error.message}`)
  process.exit(1)
})
child.on('exit', (code, signal) => {
  const exitCode = code ?? (signal === null ? 1 : 128)
  if (signals === 0 || !isService || !isAloneHere()) process.exit(exitCode)
  if (othersHere().length > 0) console.error('Waiting for the spiders of the local node')
  const poll = setInterval(() => {
    if (othersHere().length > 0) return
    clearInterval(poll)
    process.exit(exitCode)
  }, POLL_MS)
})

/** The init of the image is process 1: all processes that we see are this container's. */
function isAloneHere() {
  return process.ppid === 1 && fs.existsSync('/proc/1/comm') && fs.readFileSync('/proc/1/comm', 'utf8') === 'tini\n'
}

function othersHere() {
  return fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== '1' && Number(name) !== process.pid)
}
