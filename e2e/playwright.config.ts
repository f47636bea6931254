import { defineConfig } from '@playwright/test'
import { chromiumLaunchOptions } from './support/chromium.ts'

const { args, executablePath } = chromiumLaunchOptions()

export default defineConfig({
  testDir: '.',
  globalSetup: './support/require-build.ts',
  outputDir: '../.cache/playwright',
  // Limits, no measure: who waits for a condition goes on at once, and a shared machine may be slow.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  // One for each core: with a third, the bound on how long the page may be held up (ui-scale) was missed by noise.
  workers: 2,
  fullyParallel: false,
  forbidOnly: process.env['CI'] !== undefined,
  reporter: [['list'], ['json', { outputFile: '../.cache/playwright-report.json' }]],
  use: {
    actionTimeout: 30_000,
    viewport: { width: 1440, height: 900 },
    launchOptions: { args, executablePath },
    // To record one takes a sixth of all CPU: `--trace retain-on-failure` where a failure does not explain itself.
    trace: 'off',
    screenshot: 'only-on-failure'
  },
  projects: [
    { name: 'browser', testMatch: 'browser/**/*.spec.ts' },
    // Each story of the desktop stands alone, or shares the app with others of its worker.
    { name: 'desktop', testMatch: 'desktop/**/*.spec.ts', fullyParallel: true }
  ]
})
