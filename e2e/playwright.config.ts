import { defineConfig } from '@playwright/test'
import { chromiumLaunchOptions } from './support/chromium.ts'

const { args, executablePath } = chromiumLaunchOptions()

export default defineConfig({
  testDir: '.',
  globalSetup: './support/require-build.ts',
  outputDir: '../.cache/playwright',
  // Limits, not measurements: a met condition continues at once, and a shared machine may be slow.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  // One per core: with a third, ui-scale's limit on how long the page may be blocked was missed because of noise.
  workers: 2,
  fullyParallel: false,
  forbidOnly: process.env['CI'] !== undefined,
  reporter: [['list'], ['json', { outputFile: '../.cache/playwright-report.json' }]],
  use: {
    actionTimeout: 30_000,
    viewport: { width: 1440, height: 900 },
    launchOptions: { args, executablePath },
    // Recording one takes a sixth of all CPU: use `--trace retain-on-failure` if a failure does not explain itself.
    trace: 'off',
    screenshot: 'only-on-failure'
  },
  projects: [
    { name: 'browser', testMatch: 'browser/**/*.spec.ts' },
    // Each desktop story is independent, or shares the app with others of its worker.
    { name: 'desktop', testMatch: 'desktop/**/*.spec.ts', fullyParallel: true }
  ]
})
