import { open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { type Clock, sleep } from '../../runtime/clock.ts'
import { isAlive, readStartTime } from '../../runtime/process-identity.ts'

const FILE = 'hosted.lock'
/** A process that is being replaced may still be closing. */
const WAIT_MS = 10_000
const PAUSE_MS = 200
const Holder = z.object({ pid: z.number().int(), startTime: z.string() })

/**
 * Lets one process at a time host the local node of a directory: two would start its runs twice. One that is killed
 * leaves a stale lock, which is taken over. Rejects with DATA_DIRECTORY_IN_USE. Resolves to the function that unlocks.
 */
export async function lockHosted(directory: string, clock: Clock): Promise<() => Promise<void>> {
  const path = join(directory, FILE)
  const own = JSON.stringify({ pid: process.pid, startTime: (await readStartTime(process.pid)) ?? '' })
  const untilMs = clock.monotonicMs() + WAIT_MS
  for (;;) {
    try {
      await using file = await open(path, 'wx', 0o600)
      await file.writeFile(own)
      return async () => {
        if ((await readFile(path, 'utf8').catch(() => '')) === own) await rm(path, { force: true })
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    const holder = await readHolder(path)
    // The pid may be ours in another container or after a reboot: start times differ then.
    if (holder === null || !(await isAlive(holder))) await rm(path, { force: true })
    else if (clock.monotonicMs() >= untilMs) throw inUse(directory, holder.pid)
    else await sleep(clock, PAUSE_MS)
  }
}

/** null: it is damaged, or was given back. */
async function readHolder(path: string): Promise<z.infer<typeof Holder> | null> {
  try {
    return Holder.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch {
    return null
  }
}

function inUse(directory: string, pid: number): ScrapdeckError {
  const text = `The process ${pid} hosts the local node in ${directory}. Give each engine a data directory of its own, or start this one with local_slots = 0.`
  return new ScrapdeckError('DATA_DIRECTORY_IN_USE', text)
}
