import react from '@vitejs/plugin-react'
import { defineConfig } from 'electron-vite'

export default defineConfig({
  main: {
    build: {
      // npm packages stay packages: better-sqlite3 is native, and pino starts workers by file name.
      // The optional DuckDB is named, because only `dependencies` are meant otherwise.
      externalizeDeps: { include: ['@duckdb/node-api'] },
      outDir: 'out/main',
      rollupOptions: {
        // Threads are started by their file names, beside the chunk that starts them (runtime/thread-task.ts).
        input: {
          index: 'src/main/index.ts',
          'store-worker': 'src/engine/store/thread/store-worker.ts',
          'connection-thread': 'src/engine/store/postgres/connection-thread.ts',
          'log-worker': 'src/engine/logs/scan/log-worker.ts',
          'search-worker': 'src/engine/search/search-worker.ts',
          'plugin-worker': 'src/engine/plugins/plugin-worker.ts',
          'items-worker': 'src/engine/items/items-worker.ts',
          'egg-worker': 'src/engine/projects/egg-worker.ts',
          'password-worker': 'src/engine/access/password-strength/password-worker.ts',
          'plan-worker': 'src/engine/fleet-file/plan-worker.ts'
        },
        output: { format: 'es', chunkFileNames: '[name].js' }
      }
    }
  },
  preload: {
    build: {
      // A sandboxed preload may require nothing but electron: one CommonJS file with everything in it.
      externalizeDeps: false,
      outDir: 'out/preload',
      rollupOptions: {
        input: { index: 'src/preload/index.ts' },
        output: { format: 'cjs', entryFileNames: '[name].cjs' }
      }
    }
  },
  renderer: {
    root: 'src/renderer',
    // The same files are served by the app's own protocol and under /ui/.
    base: './',
    plugins: [react()],
    build: {
      outDir: 'out/renderer',
      rollupOptions: { input: { index: 'src/renderer/index.html' } }
    }
  }
})
