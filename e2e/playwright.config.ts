import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { defineConfig } from '@playwright/test'
import { chromiumLaunchOptions } from './support/chromium.ts'
import { findElectron } from './support/desktop.ts'

const root = resolve(import.meta.dirname, '..')
for (const built of ['out/main/index.js', 'out/preload/index.cjs', 'out/renderer/index.html']) {
  if (!existsSync(join(root, built))) throw new Error(`${built} is missing. Run \`npm run build\`, then the specs.`)
}
// Once, by the first process: workers read this file too.
if (process.env['TEST_WORKER_INDEX'] === undefined) {
  console.log(
    `Desktop specs run on ${findElectron() ? 'real Electron' : 'the Electron stand-in (no Electron binary here)'}.`
  )
}

const { args, executablePath } = chromiumLaunchOptions()

export default defineConfig({
  testDir: '.',
  outputDir: '../.cache/playwright',
  timeout: 60_000,
  expect: { timeout: 10_000 },
  workers: 2,
  fullyParallel: false,
  forbidOnly: process.env['CI'] !== undefined,
  reporter: [['list'], ['json', { outputFile: '../.cache/playwright-report.json' }]],
  use: {
    actionTimeout: 15_000,
    viewport: { width: 1440, height: 900 },
    launchOptions: { args, executablePath },
    trace: 'retain-on-failure',
    screenshot: 'only-on-failure'
  },
  projects: [
    { name: 'browser', testMatch: 'browser/**/*.spec.ts' },
    { name: 'desktop', testMatch: 'desktop/**/*.spec.ts' }
  ]
})
