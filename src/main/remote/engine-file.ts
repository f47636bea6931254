import { readFileSync, renameSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import type { Logger } from '../../engine/runtime/logger.ts'
import { EngineSettings, RemoteEngine } from '../../shared/desktop/contract.ts'

const MAX_ENGINES = 200

const StoredEngine = EngineSettings.extend({
  id: z.uuid(),
  signsInWith: RemoteEngine.shape.signsInWith,
  username: RemoteEngine.shape.username,
  /** The credentials, encrypted by the desktop's SecretBox. */
  sealed: z.string(),
  certificate: z.object({ pem: z.string().max(100_000), fingerprint: z.string() }).nullable()
})
export type StoredEngine = z.infer<typeof StoredEngine>

const EngineFile = z.object({ engines: z.array(StoredEngine).max(MAX_ENGINES) })

/** Logs an unreadable file and moves it aside, so that the desktop starts and does not overwrite it. */
export function openEngineFile(path: string, logger: Logger): StoredEngine[] {
  try {
    return EngineFile.parse(JSON.parse(readFileSync(path, 'utf8'))).engines
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    const aside = `${path}.unreadable`
    renameSync(path, aside)
    logger.warn({ err: error }, `The list of remote engines could not be read. It was moved to ${aside}`)
    return []
  }
}

/** Replaces the whole file. Only this user can read it, because it lists the engines' addresses. */
export async function writeEngineFile(path: string, engines: StoredEngine[]): Promise<void> {
  await writeFile(`${path}.new`, `${JSON.stringify(EngineFile.parse({ engines }), null, 2)}\n`, { mode: 0o600 })
  await rename(`${path}.new`, path)
}

/** Whether an engine of this version is older or newer than the app. Builds of one release are the same version. */
export function compareVersions(engine: string, app: string): 'same' | 'older' | 'newer' {
  const [theirs, ours] = [partsOf(engine), partsOf(app)]
  for (const [index, part] of theirs.entries()) {
    if (part !== ours[index]) return part < ours[index]! ? 'older' : 'newer'
  }
  return 'same'
}

function partsOf(version: string): number[] {
  const [, ...parts] = /^v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?/.exec(version) ?? []
  return [0, 1, 2].map((index) => Number(parts[index] ?? 0))
}
