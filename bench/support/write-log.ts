import { closeSync, openSync, writeSync } from 'node:fs'
import { logLines } from './log-lines.ts'

// node write-log.ts PATH MB_PER_S SECONDS: appends the lines of a busy spider to a file at this rate.

const [path = '', rate = '1', seconds = '1'] = process.argv.slice(2)
const block = Buffer.from(logLines({ bytes: 2_000_000, seed: 1 }))
const file = openSync(path, 'a')
const bytesPerMs = Number(rate) * 1_000
const beganAtMs = performance.now()
let written = 0
const timer = setInterval(() => {
  const elapsedMs = performance.now() - beganAtMs
  if (elapsedMs >= Number(seconds) * 1_000) {
    clearInterval(timer)
    writeSync(file, '\n')
    closeSync(file)
    return
  }
  const wanted = Math.floor(elapsedMs * bytesPerMs)
  while (written < wanted) {
    const from = written % block.length
    written += writeSync(file, block, from, Math.min(block.length - from, wanted - written, 262_144))
  }
}, 5)
