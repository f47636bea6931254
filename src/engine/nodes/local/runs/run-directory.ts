import { createHash } from 'node:crypto'
import { closeSync, openSync } from 'node:fs'
import { link, lstat, mkdir, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { RunLimits, AnyProjectName, AnyVersionName } from '../../../../shared/contract/index.ts'
import { SAFE_JOBID_PATTERN } from '../../../../shared/ids.ts'
import { openRegularFile } from '../../../runtime/regular-file.ts'
import { type ProcessIdentity, readStartTime } from '../../../runtime/process-identity.ts'

/**
 * The files of one run in `runs/JOBID/`. All files except the first are written atomically, in this order:
 *
 *   spec.json    the accepted job; durable before schedule() resolves
 *   launch.json  the parameters of the next start; rewritten by every attempt
 *   started      the claim: created exactly once, by the supervisor, or by an engine to prevent a start
 *   begun        created exactly once, by the supervisor just before the spider starts, or by an engine to prevent that
 *   child.json   the spider's process
 *   limit.json   the limit that the run hit, written before the signal for it (run-watch.ts)
 *   printed.txt  the output of a run that did not fail (local-node.ts reads it)
 *   exit.json    how the run ended; `code` and `signal` both null: the end was not observed
 *
 * resources/python/supervisor.py writes started, begun, child.json and exit.json.
 */
export interface RunFiles {
  spec: RunSpec | null
  supervisor: ProcessIdentity | null
  child: RunChild | null
  exit: RunExit | null
}

/**
 * The maximum size of spec.json, equal to the maximum length of a JavaScript string. Arguments can be as large as a
 * request.
 */
const LARGEST_SPEC_BYTES = 512 * 1024 ** 2
const LARGEST_FACTS_BYTES = 64 * 1024
const NO_FILE = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'ELOOP', 'ENXIO', 'EACCES'])

const RunSpec = z.object({
  project: AnyProjectName,
  version: AnyVersionName,
  spider: z.string(),
  jobid: z.string(),
  settings: z.record(z.string(), z.string()),
  args: z.record(z.string(), z.string()),
  priority: z.number(),
  acceptedAtMs: z.number(),
  // Specs from earlier engines lack these fields. Those engines always passed the version to the spider.
  isVersionAsked: z.boolean().default(true),
  env: z.record(z.string(), z.string()).optional(),
  secretNames: z.array(z.string()).default([]),
  limits: RunLimits.nullable().default(null)
})
export type RunSpec = z.infer<typeof RunSpec>

/** The latest accepted time: the start of the year 10000, because clients parse times with four-digit years. */
const LATEST_TIME_MS = 253_402_300_800_000
// Spiders can write to these files, so we accept only plausible values.
const Time = z.number().int().min(0).max(LATEST_TIME_MS)

export const RunExit = z.object({
  code: z.number().int().nullable(),
  signal: z.string().max(20).nullable(),
  /**
   * Why the spider closed, according to Scrapy's signal. Up to 200 characters, each of one or two UTF-16 code
   * units. null: it did not close.
   */
  finishReason: z.string().max(400).nullish(),
  atMs: Time,
  /** CPU time of all processes that were waited for, and the peak memory of the largest one. Absent: not measured. */
  cpuSeconds: z.number().min(0).nullish(),
  maxRssBytes: z.number().min(0).nullish()
})
export type RunExit = z.infer<typeof RunExit>

const Supervisor = z.object({ pid: z.number().int().min(1), startTime: z.string() })
// We signal the child's process group. Group ids below 2 would address other processes.
export const RunChild = Supervisor.extend({ pid: z.number().int().min(2), atMs: Time })
export type RunChild = z.infer<typeof RunChild>

/** The jobid if it is a safe file name on every system, otherwise its digest. */
export function runDirectoryName(jobid: string): string {
  return SAFE_JOBID_PATTERN.test(jobid) ? jobid : `~${createHash('sha256').update(jobid).digest('hex')}`
}

/** Creates the directory and its spec durably. Resolves with false if a run with this jobid exists. */
export async function acceptRun(runsDirectory: string, spec: RunSpec): Promise<boolean> {
  const directory = join(runsDirectory, runDirectoryName(spec.jobid))
  try {
    await mkdir(directory, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
  // Written in place, because the file has no other reader yet and an incomplete file is not an accepted job.
  await using file = await open(join(directory, 'spec.json'), 'wx', 0o600)
  await file.writeFile(JSON.stringify(spec))
  // The order of the syncs does not matter, but all three must succeed before the job is accepted.
  await Promise.all([file.sync(), syncDirectory(directory), syncDirectory(runsDirectory)])
  return true
}

export async function readRunFiles(directory: string): Promise<RunFiles> {
  const [spec, supervisor, child, exit] = await Promise.all([
    readJson(join(directory, 'spec.json'), RunSpec, LARGEST_SPEC_BYTES),
    readJson(join(directory, 'started'), Supervisor),
    readJson(join(directory, 'child.json'), RunChild),
    readJson(join(directory, 'exit.json'), RunExit)
  ])
  return { spec, supervisor, child, exit }
}

export async function listRunDirectories(runsDirectory: string): Promise<string[]> {
  const entries = await readdir(runsDirectory, { withFileTypes: true })
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
}

/** Removes the spec first, so that a crash leaves nothing to start. */
export async function removeRun(directory: string): Promise<void> {
  try {
    await unlink(join(directory, 'spec.json'))
    await syncDirectory(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  await rm(directory, { recursive: true, force: true })
}

/** Claims the run, so that no supervisor ever starts it. Resolves with false if it was already claimed. */
export async function claimRun(directory: string): Promise<boolean> {
  await writeWhole(directory, 'started.own', { pid: process.pid, startTime: (await readStartTime(process.pid)) ?? '' })
  try {
    await link(join(directory, 'started.own'), join(directory, 'started'))
    await syncDirectory(directory)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Prevents the start of the spider. Returns false if the spider has or may have started. Synchronous, because the
 * supervisor may end immediately.
 */
export function preventSpider(directory: string): boolean {
  try {
    closeSync(openSync(join(directory, 'begun'), 'wx', 0o600))
    return true
  } catch (error) {
    if (new Set(['EEXIST', 'ENOENT']).has((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}

/** `text` is an encoded message (shared/texts/message.ts). */
const Limit = z.object({ text: z.string().max(500), atMs: Time })

export function readLimit(directory: string): Promise<z.infer<typeof Limit> | null> {
  return readJson(join(directory, 'limit.json'), Limit)
}

export async function writeLimit(directory: string, limit: z.infer<typeof Limit>): Promise<void> {
  await writeWhole(directory, 'limit.json', limit)
}

export async function writeExit(directory: string, exit: RunExit): Promise<void> {
  const path = join(directory, 'exit.json')
  // Only a spider can have created a directory here. It would block the rename.
  if ((await lstat(path).catch(() => null))?.isDirectory()) await rm(path, { recursive: true })
  await writeWhole(directory, 'exit.json', exit)
}

/** The write is atomic and survives a power failure. */
export async function writeWhole(directory: string, name: string, content: object): Promise<void> {
  const part = join(directory, `${name}.part`)
  // Never writes to an existing file, because a spider may have left a pipe or a link to another file.
  await rm(part, { recursive: true, force: true })
  {
    await using file = await open(part, 'wx', 0o600)
    await file.writeFile(JSON.stringify(content))
    await file.sync()
  }
  await rename(part, join(directory, name))
  await syncDirectory(directory)
}

/** null: the file is missing, truncated by a power failure, or overwritten by a spider, so it proves nothing. */
async function readJson<T>(path: string, schema: z.ZodType<T>, maxBytes = LARGEST_FACTS_BYTES): Promise<T | null> {
  try {
    await using file = await openRegularFile(path)
    if (file === null || (await file.stat()).size > maxBytes) return null
    return schema.parse(JSON.parse(await file.readFile('utf8')))
  } catch (error) {
    if (NO_FILE.has((error as NodeJS.ErrnoException).code ?? '')) return null
    if (error instanceof SyntaxError || error instanceof z.ZodError) return null
    throw error
  }
}

/** Directory entries are durable only after a sync of the directory. Windows neither needs nor allows such a sync. */
async function syncDirectory(directory: string): Promise<void> {
  if (process.platform === 'win32') return
  await using handle = await open(directory, 'r')
  await handle.sync()
}
