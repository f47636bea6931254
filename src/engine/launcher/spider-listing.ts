import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ScrapdeckError } from '../../shared/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import { childEnvironment } from './child-environment.ts'
import { runCommand } from './run-command.ts'

const LIMIT_MS = 60_000
const STDOUT_LIMIT_BYTES = 1024 * 1024
const SHOWN_LINES = 20
const Spiders = z.array(z.string()).max(10_000)

/**
 * The spiders of an egg, in the order of their names, by importing its code in a process of its own with limits on time
 * and output. Throws EGG_IMPORT_FAILED with the end of the traceback.
 */
export async function listSpiders(options: {
  python: string
  egg: string
  dataDirectory: string
  resourcesDirectory: string
  clock: Clock
  signal?: AbortSignal
}): Promise<string[]> {
  const directory = join(options.dataDirectory, 'work')
  await mkdir(directory, { recursive: true })
  const result = await runCommand({
    command: options.python,
    args: [join(options.resourcesDirectory, 'python', 'crawl.py'), options.egg, 'spiders'],
    directory,
    environment: childEnvironment(process.env),
    timeLimitMs: LIMIT_MS,
    stdoutLimitBytes: STDOUT_LIMIT_BYTES,
    clock: options.clock,
    signal: options.signal
  })
  options.signal?.throwIfAborted()
  if (result.stoppedFor === 'time') fail(`Importing the egg took more than ${LIMIT_MS / 1000} seconds.`, result.stderr)
  if (result.stoppedFor === 'output') fail('The egg lists more spiders than can be right.', result.stderr)
  if (result.code !== 0) fail('The code in the egg does not import. Its last words:', result.stderr)
  try {
    return Spiders.parse(JSON.parse(result.stdout))
  } catch (error) {
    return fail(`The list of spiders is not readable (${(error as Error).message.slice(0, 200)}).`, result.stderr)
  }
}

function fail(sentence: string, stderr: string): never {
  const end = stderr.trimEnd().split('\n').slice(-SHOWN_LINES).join('\n')
  throw new ScrapdeckError('EGG_IMPORT_FAILED', end ? `${sentence}\n${end}` : sentence, { data: { stderr: end } })
}
