import { spawnSync } from 'node:child_process'
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureLogParser } from '../scripts/setup/python-environment.mjs'
import { createLogParser } from '../src/engine/runs/log-parser/log-parser.ts'
import { type Figure, round } from './figure.ts'
import { machine } from './support/bench-engine.ts'
import { writeGeneratedLog } from './support/generated-log.ts'

export const about = 'understanding a log of 200 MB at level DEBUG, by our parser and by LogParser'

const CHUNK_BYTES = 1_048_576
const WANTED_MB_PER_S = 40
const WANTED_RATIO = 10

/** Reads the log as LogParser does beside a Scrapyd: in chunks of 10 MB, without the telnet console. */
const LOGPARSER = `
import json, logging, sys, time
from logparser.logparser import LogParser
from logparser.utils import custom_settings
logging.disable(logging.CRITICAL)
parser = LogParser(**dict(custom_settings, scrapyd_logs_dir=sys.argv[1], enable_telnet=False))
start = time.perf_counter()
parser.run()
seconds = time.perf_counter() - start
answer = json.load(open(sys.argv[1] + '/shop/kettles/1.json'))
print(json.dumps({'seconds': seconds, 'pages': answer['pages'], 'items': answer['items']}))
`

export const run = () => measure({ bytes: 200_000_000, rounds: 3 })

/** Each parser reads the same file from the page cache in one thread. */
export async function measure({ bytes, rounds }: { bytes: number; rounds: number }): Promise<Figure[]> {
  const python = await ensureLogParser()
  const directory = await mkdtemp(join(tmpdir(), 'scrapdeck-bench-'))
  try {
    const file = join(directory, 'shop', 'kettles', '1.log')
    const written = await writeGeneratedLog(file, bytes)
    const megabytes = statSync(file).size / 1_000_000
    const ours = Array.from({ length: rounds }, () => parse(file)).sort((one, other) => one.seconds - other.seconds)
    const median = ours[Math.floor(rounds / 2)] as Parsed
    const theirs = parseWithLogParser(python, directory)
    for (const { pages, items } of [median, theirs]) {
      if (pages !== written.pages || items !== written.items) throw new Error('A parser counted other pages or items.')
    }
    const speeds = { ours: megabytes / median.seconds, bound: megabytes / theirs.seconds, unit: 'MB/s' }
    const conditions = {
      log_mb: Math.round(megabytes),
      lines: median.lines,
      rounds,
      logparser: '0.8.4',
      wanted_mb_per_s: WANTED_MB_PER_S,
      ...machine()
    }
    const comparison = { ...speeds, boundIs: 'LogParser 0.8.4', wanted: { atLeast: WANTED_RATIO } }
    return [
      { figure: 'ratio_logparser', value: round(speeds.ours / speeds.bound), unit: 'times', conditions, comparison },
      { figure: 'mb_per_s', value: round(speeds.ours), unit: 'MB/s', conditions },
      { figure: 'logparser_mb_per_s', value: round(speeds.bound), unit: 'MB/s', conditions }
    ]
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

interface Parsed {
  seconds: number
  pages: number | null
  items: number | null
  lines: number
}

function parse(file: string): Parsed {
  const begun = performance.now()
  const parser = createLogParser()
  const chunk = new Uint8Array(CHUNK_BYTES)
  const handle = openSync(file, 'r')
  for (let length = readSync(handle, chunk); length > 0; length = readSync(handle, chunk)) {
    parser.push(chunk.subarray(0, length))
    parser.takeErrors()
  }
  closeSync(handle)
  parser.end()
  const { pages, items, lines } = parser.figures()
  return { seconds: (performance.now() - begun) / 1000, pages, items, lines }
}

function parseWithLogParser(python: string, directory: string): Omit<Parsed, 'lines'> {
  const { status, stdout, stderr } = spawnSync(python, ['-c', LOGPARSER, directory], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`LogParser failed: ${stderr}`)
  return JSON.parse(stdout.trim().split('\n').at(-1) as string)
}
