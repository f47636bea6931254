/** Electron's binary. Its npm package does not contain it, but downloads it from GitHub when it is first needed. */
import fs from 'node:fs'
import path from 'node:path'
import { hasDisplay, inRoot, nodeBinary, packageFile, stampDirectory } from './platform.mjs'
import { stamp } from './stamps.mjs'
import { StepFailed, commandStep } from './steps.mjs'

const DOWNLOAD_LIMIT_MS = 120_000
/** How long to wait before a failed download is tried again, for machines without access to GitHub. */
const TRY_AGAIN_AFTER_MS = 24 * 3_600_000
const FAILED = 'electron-download-failed'

/**
 * @returns {Promise<{ binary: string, reason: null } | { binary: null, reason: string }>} the program, or why it is
 * missing
 */
export async function findElectron() {
  if (!hasDisplay()) return { binary: null, reason: 'there is no display' }
  const present = electronBinary()
  if (present) return { binary: present, reason: null }
  if (failedLately()) return { binary: null, reason: 'its binary could not be downloaded (tried in the last 24 hours)' }
  try {
    await commandStep({
      title: 'Electron (about 110 MB, once)',
      command: nodeBinary,
      args: [packageFile('electron/install.js')],
      timeLimitMs: DOWNLOAD_LIMIT_MS
    })
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error
  }
  const downloaded = electronBinary()
  if (downloaded) return { binary: downloaded, reason: null }
  stamp(FAILED, new Date().toISOString())
  return { binary: null, reason: 'its binary could not be downloaded' }
}

/** @returns {string | null} */
export function electronBinary() {
  const nameFile = inRoot('node_modules', 'electron', 'path.txt')
  if (!fs.existsSync(nameFile)) return null
  const binary = inRoot('node_modules', 'electron', 'dist', fs.readFileSync(nameFile, 'utf8').trim())
  return fs.existsSync(binary) ? binary : null
}

function failedLately() {
  const failure = fs.statSync(path.join(stampDirectory, FAILED), { throwIfNoEntry: false })
  return failure !== undefined && Date.now() - failure.mtimeMs < TRY_AGAIN_AFTER_MS
}
