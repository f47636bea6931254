import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'electron-vite'
import type { Plugin } from 'vite'

/** What the page loads before any screen: everything that its entry imports, directly or not, without `import()`. */
const beforeScreens = new Set<string>()
const findBeforeScreens: Plugin = {
  name: 'find-before-screens',
  buildEnd() {
    const open = [...this.getModuleIds()].filter((id) => this.getModuleInfo(id)?.isEntry)
    for (const id of open) {
      if (beforeScreens.has(id)) continue
      beforeScreens.add(id)
      open.push(...(this.getModuleInfo(id)?.importedIds ?? []))
    }
  }
}

/** For browsers: the service sends the copy that fits (src/server/user-interface.ts). */
const addCompressedCopies: Plugin = {
  name: 'add-compressed-copies',
  async writeBundle({ dir }, bundle) {
    const texts = Object.keys(bundle).filter((name) => /\.(js|css)$/.test(name))
    for (const name of texts) {
      const file = path.join(dir!, name)
      const content = await readFile(file)
      await writeFile(`${file}.br`, await promisify(brotliCompress)(content))
      await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }))
    }
  }
}

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
          'store-worker': 'src/engine/storage/thread/store-worker.ts',
          'connection-thread': 'src/engine/storage/postgres/connection-thread.ts',
          'log-worker': 'src/engine/runs/logs/scan/log-worker.ts',
          'search-worker': 'src/engine/runs/search/search-worker.ts',
          'plugin-worker': 'src/engine/notify/plugins/plugin-worker.ts',
          'items-worker': 'src/engine/runs/items/items-worker.ts',
          'egg-worker': 'src/engine/projects/egg-worker.ts',
          'password-worker': 'src/engine/access/password-strength/password-worker.ts',
          'plan-worker': 'src/engine/api/fleet-file/plan-worker.ts'
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
    plugins: [react(), findBeforeScreens, addCompressedCopies],
    build: {
      outDir: 'out/renderer',
      // electron-vite does not, by default.
      minify: true,
      rollupOptions: {
        input: { index: 'src/renderer/index.html' },
        // Otherwise each part that two screens share is a file: 117 of them before the first screen.
        output: {
          codeSplitting: {
            groups: [{ name: 'app', test: (id) => beforeScreens.has(id) && !id.includes('@mantine/core') }]
          }
        }
      }
    }
  }
})
