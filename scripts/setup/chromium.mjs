/** A Chromium for browser tests: an installed one, Playwright's or Debian's package, in this order. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { WITHOUT_MORE, hasApt, runApt } from './debian-packages.mjs'
import { nodeBinary, packageFile } from './platform.mjs'
import { StepFailed, runCommand, say, step } from './steps.mjs'

// The headless shell is first, because the browser tests take a quarter less time in it.
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
/** Debian's packages. Some derived distributions have only the second one. */
const PACKAGES = ['chromium-headless-shell', 'chromium']
const USUAL_PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe'
]
const DOWNLOAD_LIMIT_MS = 180_000

/** @returns {Promise<string>} the program */
export async function ensureChromium() {
  const found = findChromium()
  if (found) return found
  return step('Chromium for browser tests', async () => {
    const installed = (await tryPlaywright()) ?? (await tryDebian())
    if (installed) return installed
    throw new StepFailed(
      'Chromium',
      'No Chromium was found, and neither Playwright nor apt-get could install one.\n' +
        '  What to do: install Chromium or Chrome, or name its program in CHROMIUM, then run the command again.'
    )
  })
}

/** @returns {string | null} */
function findChromium() {
  const asked = process.env.CHROMIUM
  if (asked) {
    if (fs.existsSync(asked)) return asked
    throw new StepFailed('Chromium', `CHROMIUM names ${asked}, which does not exist. Correct it or unset it.`)
  }
  const places = (process.env.PATH ?? '')
    .split(path.delimiter)
    .flatMap((folder) => NAMES.map((name) => path.join(folder, name)))
  return [...places, ...USUAL_PLACES, playwrightChromium()].find((place) => place && fs.existsSync(place)) ?? null
}

function playwrightChromium() {
  const question = `console.log(require(${JSON.stringify(packageFile('playwright-core'))}).chromium.executablePath())`
  return spawnSync(nodeBinary, ['-e', question], { encoding: 'utf8' }).stdout.trim()
}

async function tryPlaywright() {
  try {
    await runCommand({
      title: 'Chromium from Playwright',
      command: nodeBinary,
      args: [packageFile('playwright-core/cli.js'), 'install', 'chromium'],
      timeLimitMs: DOWNLOAD_LIMIT_MS
    })
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error
    say(`  ${error.message}`)
    return null
  }
  return findChromium()
}

async function tryDebian() {
  if (!hasApt() || !(await runApt('update'))) return null
  for (const name of PACKAGES) if (await runApt('install', ...WITHOUT_MORE, name)) break
  return findChromium()
}
