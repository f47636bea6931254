import { join } from 'node:path'
import { z } from 'zod'
import { ScrapdeckError } from '../../../../shared/errors.ts'
import { sentence } from '../../../../shared/texts/errors/nodes.ts'
import { type Message, say } from '../../../../shared/texts/message.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Isolation } from '../isolation/isolation.ts'
import { childEnvironment } from '../processes/child-environment.ts'
import { runCommand } from '../processes/run-command.ts'

const Finding = z.object({
  path: z.string().min(1),
  version: z.string().nullable(),
  scrapyVersion: z.string().nullable(),
  failure: z.string().nullable().default(null)
})

/** `version` null: the program is not a Python. */
export type Finding = Omit<z.infer<typeof Finding>, 'failure'> & { failure: Message | string | null }

export const OLDEST_PYTHON = '3.10'

const LIMIT_MS = 30_000
const OLDEST_MINOR = 10
const CHECK = `
import json, sys
found = {"path": sys.executable, "version": "%d.%d.%d" % sys.version_info[:3], "scrapyVersion": None, "failure": None}
try:
    import scrapy
    found["scrapyVersion"] = scrapy.__version__
except ModuleNotFoundError as error:
    found["failure"] = None if error.name == "scrapy" else str(error)
except Exception as error:
    found["failure"] = "%s: %s" % (type(error).__name__, error)
print(json.dumps(found))
`

export interface CheckedIsolation {
  isolation: Isolation
  name: string
  /** The directory that the Python can write to. Default: none. */
  directory?: string
}

/** Finds the version of a Python and whether it has Scrapy. Never rejects. `directory` must not contain modules. */
export async function checkPython(
  command: string,
  options: { directory: string; clock: Clock; signal?: AbortSignal; isolation?: CheckedIsolation }
): Promise<Finding> {
  const none = (failure: Message | string) => ({ path: command, version: null, scrapyVersion: null, failure })
  try {
    const { isolation, ...shared } = options
    const asked = { command, args: ['-c', CHECK] }
    const result = await runCommand({
      ...shared,
      ...(isolation === undefined
        ? asked
        : await isolation.isolation.command(isolation.name, isolation.directory ?? null, asked.command, asked.args)),
      environment: isolation?.isolation.environment() ?? childEnvironment(process.env),
      timeLimitMs: LIMIT_MS,
      stdoutLimitBytes: 1_000_000
    })
    if (result.stoppedFor === 'time') return none(say('python.late', { seconds: LIMIT_MS / 1000 }))
    if (result.code !== 0) return none(reasonIn(result.stderr))
    return Finding.parse(JSON.parse(lastLine(result.stdout)))
  } catch (error) {
    const isNonsense = error instanceof SyntaxError || error instanceof z.ZodError
    return none(isNonsense ? say('python.other_program') : (error as Error).message)
  }
}

/**
 * A program that prints the version of its Python and whether an import of Scrapy would find a module. It avoids json
 * and importlib.util, which take as long to import as the program needs for its work. Import finders of the operator's
 * packages can lack `find_spec` or throw. Then other finders or the real import decide.
 */
const LOOK = `
import sys
def finds_scrapy(finder):
    try:
        return finder.find_spec("scrapy", None) is not None
    except Exception:
        return False
has_scrapy = any(finds_scrapy(finder) for finder in sys.meta_path)
print('{"version": "%d.%d.%d", "hasScrapy": %s}' % (*sys.version_info[:3], "true" if has_scrapy else "false"))
`
const Look = z.object({ version: z.string(), hasScrapy: z.boolean() })

/** Rejects with PYTHON_MISSING. Unlike `checkPython`, it does not import Scrapy, because startup waits for it. */
export async function requirePython(command: string, options: { directory: string; clock: Clock }): Promise<void> {
  const refuse = (why: string) =>
    new ScrapdeckError('PYTHON_MISSING', sentence('nodes.python_unusable', { command, why }))
  const result = await runCommand({
    ...options,
    command,
    args: ['-c', LOOK],
    environment: childEnvironment(process.env),
    timeLimitMs: LIMIT_MS,
    stdoutLimitBytes: 1_000_000
  }).catch((error: NodeJS.ErrnoException) => {
    throw refuse(error.code === 'ENOENT' ? 'does not exist' : `cannot be started (${error.message})`)
  })
  if (result.stoppedFor !== null) throw refuse('did not answer, so it may not be a Python')
  let look: z.infer<typeof Look>
  try {
    look = Look.parse(JSON.parse(lastLine(result.stdout)))
  } catch {
    throw refuse(`is not a Python that can be used (${lastLine(result.stderr)})`)
  }
  if (!isNewEnoughVersion(look.version))
    throw refuse(`is version ${look.version}; spiders need ${OLDEST_PYTHON} or newer`)
  if (!look.hasScrapy) throw refuse(`has no Scrapy (${command} -m pip install scrapy adds it)`)
}

export function isNewEnough(finding: Finding): finding is Finding & { version: string } {
  return finding.version !== null && isNewEnoughVersion(finding.version)
}

function isNewEnoughVersion(version: string): boolean {
  const [major, minor] = version.split('.').map(Number) as [number, number]
  return major > 3 || (major === 3 && minor >= OLDEST_MINOR)
}

export function pythonIn(environment: string): string {
  return join(environment, ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']))
}

const lastLine = (text: string): string => text.trim().split('\n').at(-1)!.slice(0, 500)

export const reasonIn = (output: string): Message | string => lastLine(output) || say('python.failed_silently')
