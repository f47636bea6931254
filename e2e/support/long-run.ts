import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'

interface LongRun<Result> {
  run(): Promise<Result>
  /** Ends all processes that the run has started. Can be called at any stage. */
  end(): Promise<void>
}

/** Runs in `directory` and keeps it. By default, uses a temporary directory named after `prefix`. */
export async function runInDirectory<Result>(
  { directory, prefix }: { directory: string | undefined; prefix: string },
  create: (directory: string) => LongRun<Result>
): Promise<Result> {
  const place = directory ?? mkdtempSync(join(tmpdir(), prefix))
  const run = create(place)
  try {
    return await run.run()
  } finally {
    await run.end()
    if (directory === undefined) rmSync(place, { recursive: true, force: true, maxRetries: 5 })
  }
}

/**
 * Prints the report and, as its last line, the result as JSON. Exits with 1 on any complaint. The first signal shuts
 * the run down in an orderly way. A second one ends it immediately (the exit handlers kill).
 */
export async function runAsCommand(
  work: (signal: AbortSignal) => Promise<{ report: string; result: { complaints: readonly string[] } }>
): Promise<never> {
  const interruption = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (interruption.signal.aborted) process.exit(1)
      interruption.abort()
    })
  }
  try {
    const { report, result } = await work(interruption.signal)
    console.log(report)
    console.log(JSON.stringify(result))
    process.exitCode = result.complaints.length === 0 ? 0 : 1
  } catch (error) {
    console.error(error)
    process.exitCode = 1
  }
  process.exit()
}

export function describeEnd(complaints: readonly string[], allWell: string): string[] {
  const load = loadavg().map((average) => average.toFixed(1))
  return [
    `  load          ${load.join(' ')} on ${cpus().length} cores`,
    '',
    ...(complaints.length === 0 ? [`  ${allWell}`] : complaints.slice(0, 50).map((text) => `  ! ${text}`))
  ]
}
