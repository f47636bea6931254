import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { findElectron } from './desktop.ts'

const root = resolve(import.meta.dirname, '../..')

/** Playwright calls this once, before all specs. */
export default function requireBuild(): void {
  for (const built of ['out/main/index.js', 'out/preload/index.cjs', 'out/renderer/index.html']) {
    if (!existsSync(join(root, built))) throw new Error(`${built} is missing. Run \`npm run build\`, then the specs.`)
  }
  console.log(
    `Desktop specs run on ${findElectron() ? 'real Electron' : 'the Electron stand-in (no Electron binary here)'}.`
  )
}
