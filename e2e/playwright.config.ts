import { defineConfig } from '@playwright/test'
import { leftOut } from '../scripts/test-length.mjs'
import { chromiumLaunchOptions } from './support/chromium.ts'

const { args, executablePath } = chromiumLaunchOptions()

const SCALE = 'browser/ui-scale.full.spec.ts'

export default defineConfig({
  testDir: '.',
  testIgnore: leftOut,
  globalSetup: './support/require-build.ts',
  outputDir: '../.cache/playwright',
  // These are only limits. A test continues as soon as a condition is met, but a shared machine can be slow.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  // Stories spend a fifth of their time waiting for spiders and polls. With two workers, the cores were idle during
  // that time.
  workers: 3,
  fullyParallel: false,
  // For the reason, see vitest.config.ts.
  retries: process.env['CI'] === undefined ? 0 : 1,
  forbidOnly: process.env['CI'] !== undefined,
  reporter: [['list'], ['json', { outputFile: '../.cache/playwright-report.json' }]],
  use: {
    actionTimeout: 30_000,
    viewport: { width: 1440, height: 900 },
    launchOptions: { args, executablePath },
    // Recording takes a sixth of all CPU time. Use `--trace retain-on-failure` if a failure is unclear.
    trace: 'off',
    screenshot: 'only-on-failure'
  },
  projects: [
    { name: 'browser', testMatch: 'browser/**/*.spec.ts', testIgnore: [SCALE, ...leftOut] },
    // Each desktop story is independent or shares the app with others of its worker.
    { name: 'desktop', testMatch: 'desktop/**/*.spec.ts', fullyParallel: true },
    // What only a real Electron shows: windows of a window manager, signals, sandboxes (npm run test:electron).
    ...(process.env['SCRAPDECK_ELECTRON'] === undefined
      ? []
      : [{ name: 'electron', testMatch: 'electron/**/*.spec.ts' }]),
    // Runs alone on the machine, because it measures how long the page is blocked.
    { name: 'scale', testMatch: SCALE, dependencies: ['browser', 'desktop'] }
  ]
})
