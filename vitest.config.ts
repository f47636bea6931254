import { availableParallelism } from 'node:os'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/longest-first.ts'
import { leftOut } from './scripts/test-length.mjs'

const INTEGRATION = '{src,e2e,scripts,bench,simulation}/**/*.integration.test.ts'
/** These replace a module or choose a language, which a worker that has loaded modules for other files cannot do. */
const ALONE = [
  'src/main/engine-host.full.test.ts',
  'src/renderer/features/logs/logs-screen.test.tsx',
  'src/renderer/app/pseudo-language{,.full}.test.tsx'
]
const IGNORED = ['**/node_modules/**', 'out/**', '.cache/**', ...leftOut]

/**
 * In CI, one test of six thousand that a busy machine was too slow for must not refuse the work of days: it is tried
 * once more, and named at the end (scripts/setup/test-results.mjs). Never on a developer's machine.
 */
const retry = process.env['CI'] === undefined ? 0 : 1

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // Every core, and half as many again: tests wait for threads, files and timers an eighth of their time.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    projects: [
      {
        test: {
          name: 'unit',
          retry,
          include: ['{src,scripts,bench,e2e,simulation}/**/*.test.ts'],
          exclude: [...IGNORED, ...ALONE, INTEGRATION, 'src/renderer/**'],
          environment: 'node',
          globalSetup: 'scripts/no-leftovers.mjs',
          // Most files import most of the engine: it is loaded once for each worker.
          isolate: false,
          restoreMocks: true,
          unstubEnvs: true,
          // Property tests and real processes take their time on a shared machine; none waits for it on purpose.
          testTimeout: 30_000,
          hookTimeout: 30_000
        }
      },
      {
        plugins: [react()],
        test: {
          name: 'renderer',
          retry,
          include: ['src/renderer/**/*.test.{ts,tsx}'],
          exclude: [...IGNORED, ...ALONE],
          environment: 'jsdom',
          // A page and the modules of the UI cost more than most test files: they are made once for each worker.
          isolate: false,
          setupFiles: 'src/renderer/testing/after-each.ts',
          testTimeout: 30_000
        }
      },
      {
        plugins: [react()],
        test: {
          name: 'alone',
          retry,
          include: ALONE,
          exclude: IGNORED,
          testTimeout: 30_000
        }
      },
      {
        test: {
          name: 'integration',
          retry,
          include: [INTEGRATION],
          exclude: IGNORED,
          environment: 'node',
          // Real processes, which wait for each other half of the time: more files than there are cores.
          maxWorkers: 4,
          // A worker that has loaded the engine keeps it for its next file.
          isolate: false,
          testTimeout: 120_000,
          hookTimeout: 60_000
        }
      }
    ]
  }
})
