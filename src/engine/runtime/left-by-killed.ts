import { lstat, readdir, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { isOthers } from './file-trust.ts'
import { isAlive, type ProcessIdentity, readStartTime } from './process-identity.ts'

export const HOLDS = 'backup-'
const DRAFT = `.${HOLDS}`
const EITHER = /^\.?backup-/

interface Owner extends ProcessIdentity {
  host: string
}

export async function nameOfOwn(prefix: string): Promise<string> {
  const owner: Owner = { host: hostname(), pid: process.pid, startTime: (await readStartTime(process.pid)) ?? '' }
  return prefix + Buffer.from(JSON.stringify(owner)).toString('base64url')
}

function ownerOf(name: string): Owner | null {
  if (!EITHER.test(name)) return null
  try {
    return OwnerOfHold.parse(JSON.parse(Buffer.from(name.replace(EITHER, ''), 'base64url').toString()))
  } catch {
    return null
  }
}

const OwnerOfHold = z.object({ host: z.string(), pid: z.number().int().positive(), startTime: z.string() })

/** Removes drafts and holds left by killed backups and restores on this machine. Returns whether there were any. */
export async function removeLeftHolds(parent: string): Promise<boolean> {
  let removed = false
  for (const name of await readdir(parent).catch(() => [])) {
    const owner = ownerOf(name)
    if (owner === null || owner.host !== hostname() || (await isAlive(owner))) continue
    const path = join(parent, name)
    // In a shared directory, a file with this name can belong to another user.
    if (isOthers(await lstat(path))) continue
    await rm(path, { recursive: true, force: true })
    removed = true
  }
  return removed
}

/** Returns a path next to `path` for a file that is not complete yet. First removes drafts of killed processes. */
export async function draftBeside(path: string): Promise<string> {
  // A draft that cannot be removed is harmless.
  await removeLeftHolds(dirname(path)).catch(() => {})
  return join(dirname(path), await nameOfOwn(DRAFT))
}
