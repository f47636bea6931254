import { defineConfig } from 'vite'

/**
 * The headless service as few files: reading and stripping some thousand modules one by one took two thirds of its start
 * (docs/benchmarks.md, `cold`). One folder deep in out/, so that package-paths.ts finds the root as it does from src/.
 */
export default defineConfig({
  build: {
    ssr: true,
    outDir: 'out/service',
    target: 'node24',
    // Its stack traces are read by people.
    minify: false,
    rollupOptions: {
      // Threads are started by their file names, beside the chunk that starts them (runtime/thread-task.ts).
      input: {
        scrapdeck: 'src/cli/bin.ts',
        'store-worker': 'src/engine/store/sqlite/store-worker.ts',
        'plugin-worker': 'src/engine/plugins/plugin-worker.ts',
        'egg-worker': 'src/engine/projects/egg-worker.ts',
        'plan-worker': 'src/engine/fleet-file/plan-worker.ts'
      },
      output: { entryFileNames: '[name].js', chunkFileNames: '[name].js' }
    }
  },
  ssr: {
    noExternal: true,
    // better-sqlite3 is native, and pino starts workers by file name.
    external: ['better-sqlite3', 'pino', 'pino-pretty']
  }
})
