import { minifyContractRouter } from '@orpc/contract'
import { defineConfig, type Plugin } from 'vite'
import { contract } from './src/shared/contract/index.ts'

/** The package itself is ES modules; the bundle's folder says what it is. */
const sayCommonJs: Plugin = {
  name: 'say-commonjs',
  generateBundle() {
    this.emitFile({ type: 'asset', fileName: 'package.json', source: '{ "type": "commonjs" }\n' })
  }
}

/** undici loads it for its constants, and speaks no HTTP/2 here; only the server with TLS does. */
const noHttp2: Plugin = {
  name: 'no-http2',
  enforce: 'pre',
  resolveId: (id, importer) => (id === 'node:http2' && !importer?.endsWith('/http2-server.ts') ? '\0no-http2' : null),
  load: (id) => (id === '\0no-http2' ? 'export const constants = {}' : null)
}

/** A client needs the address of each operation, not its schemas: loading those took longer than most commands. */
const onlyRoutes: Plugin = {
  name: 'only-routes',
  load(id) {
    if (!id.endsWith('/src/cli/client/routes.ts')) return null
    // What a server knows of each operation besides is as much again.
    const text = JSON.stringify(minifyContractRouter(contract), (key, value) => (key === 'meta' ? {} : value))
    return `export const routes = JSON.parse(${JSON.stringify(text)})`
  }
}

/**
 * The headless service as few files: reading and stripping some thousand modules one by one took two thirds of its start
 * (docs/benchmarks.md, `cold`). CommonJS, because Node evaluates every getter of each of its own modules that an ES
 * module imports (its whole HTTP client among them), which costs a fifth of the rest. One folder deep in out/, so that package-paths.ts finds the root as it does from src/.
 */
export default defineConfig({
  plugins: [sayCommonJs, onlyRoutes, noHttp2],
  build: {
    ssr: true,
    outDir: 'out/service',
    target: 'node24',
    // Its stack traces are read by people.
    minify: false,
    rollupOptions: {
      // Of the vocabulary only what is used: one constant would load the schemas of all operations.
      treeshake: { moduleSideEffects: (id) => !id.includes('/src/shared/') },
      // Threads are started by their file names, beside the chunk that starts them (runtime/thread-task.ts).
      input: {
        scrapdeck: 'src/cli/bin.ts',
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
      output: {
        format: 'cjs',
        entryFileNames: '[name].js',
        chunkFileNames: '[name].js',
        // By themselves they would be put beside zod and the reader of eggs, which would be loaded for them.
        codeSplitting: {
          groups: [
            { name: 'errors', test: /src.shared.errors\.ts$/ },
            { name: 'names', test: /src.engine.projects.names\.ts$/ }
          ]
        }
      }
    }
  },
  ssr: {
    noExternal: true,
    // better-sqlite3, DuckDB and the keychain are native; pino-pretty is only loaded for a terminal; `open` has a script
    // beside it.
    external: ['better-sqlite3', '@duckdb/node-api', '@napi-rs/keyring', 'pino-pretty', 'open']
  }
})
