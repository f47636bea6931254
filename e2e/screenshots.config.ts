import { defineConfig } from '@playwright/test'
import base from './playwright.config.ts'

/** Screenshots for people, never part of a test run: `npx playwright test -c e2e/screenshots.config.ts`. */
export default defineConfig({
  ...base,
  workers: 1,
  // A set of about 150 pictures takes three minutes on an idle machine and nine on a busy one.
  timeout: 900_000,
  projects: [{ name: 'screenshots', testMatch: 'screenshots/**/*.shots.ts' }]
})
