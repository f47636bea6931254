const path = require('node:path')

/**
 * The borders of the house (design: one direction everywhere). Each comment is what you read when you cross one.
 * Types count as imports: a type is a dependency too.
 */

/** The rooms of the engine, in the order in which work walks through them. A room imports only rooms further down. */
const ROOMS = [
  'wiring',
  'import',
  'backup',
  'router',
  'health',
  'fleet-file',
  'scrapyd-commands',
  'commands',
  'alerts',
  'expectations',
  'schedules',
  'retention',
  'queue',
  'dispatch',
  'collecting',
  'nodes',
  'launcher',
  'projects',
  'search',
  'logs',
  'output',
  'understanding',
  'items',
  'plugins',
  'webhooks',
  'events',
  'leadership',
  'cache',
  'audit',
  'access',
  'store',
  'job-rules',
  'blobs',
  'runtime'
]

/** The dispatcher is the one room that also drives an earlier one. */
const ALLOWED_UPWARDS = { dispatch: ['queue'] }

/** The local node is a node: it fulfils the one interface of all nodes, and knows nothing else of that room. */
const ALLOWED_FILES = { launcher: 'nodes/node-(client|traits|checks)\\.ts$' }

/** Tests, and what only tests load. */
const TESTS = '\\.test\\.tsx?$|/testing/'

const roomRules = ROOMS.slice(1).map((room, index) => {
  const earlier = ROOMS.slice(0, index + 1).filter((other) => !ALLOWED_UPWARDS[room]?.includes(other))
  return {
    name: `engine-room-${room}`,
    comment: `src/engine/${room} comes after ${earlier.join(', ')} and imports none of them: results travel back as return values, rows and events. Move what is shared further down, or hand it in as an argument from engine/assembly/layers/.`,
    severity: 'error',
    from: { path: `^src/engine/${room}/`, pathNot: TESTS },
    to: {
      path: `^src/engine/(${earlier.join('|')})/`,
      ...(ALLOWED_FILES[room] ? { pathNot: `^src/engine/${ALLOWED_FILES[room]}` } : {})
    }
  }
})

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'These files import each other in a circle, so none can be read first. Move what both need into a third.',
      severity: 'error',
      from: {},
      to: { circular: true }
    },
    {
      name: 'resolvable',
      comment: 'This import leads nowhere: the file does not exist, or the package is not in package.json.',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true }
    },
    {
      name: 'shared-imports-nothing-of-ours',
      comment: 'src/shared is the vocabulary and runs anywhere: it imports no other layer and nothing of Node.',
      severity: 'error',
      from: { path: '^src/shared/', pathNot: TESTS },
      to: { path: '^src/(?!shared/)', dependencyTypesNot: ['npm'] }
    },
    {
      name: 'shared-runs-anywhere',
      comment: 'src/shared also runs in a browser: no modules of Node here.',
      severity: 'error',
      from: { path: '^src/shared/', pathNot: TESTS },
      to: { dependencyTypes: ['core'] }
    },
    {
      name: 'engine-stands-alone',
      comment: 'The engine is a library: it knows neither the server, the desktop, the command line nor the UI.',
      severity: 'error',
      from: { path: '^src/engine/' },
      to: { path: '^src/(server|config|remote|main|cli|preload|renderer)/' }
    },
    {
      name: 'engine-is-plain-node',
      comment: 'The engine runs in plain Node: no electron, no HTTP server, no React. What it needs of them is an argument.',
      severity: 'error',
      from: { path: '^src/engine/' },
      to: { path: '(^|node_modules/)(@types/)?(electron|fastify|@fastify/[^/]+|react|react-dom)(/|$)' }
    },
    {
      name: 'engine-one-door',
      comment: 'From outside, the engine has one door, src/engine/index.ts, and the seams it is built from (blobs, runtime, types).',
      severity: 'error',
      from: { path: '^src/(server|config|remote|main|cli)/', pathNot: TESTS },
      to: {
        path: '^src/engine/',
        pathNot: '^src/engine/(index\\.ts$|runtime/|cache/(shared-cache|shared-answers|token-buckets?)\\.ts$|blobs/incoming-files\\.ts$|access/(principal|acting|rights|sign-ins)\\.ts$|nodes/ssh/(ssh-tunnels|connect-through)\\.ts$|audit/audit\\.ts$|router/router\\.ts$|scrapyd-commands/scrapyd-(commands|shapes|for)\\.ts$|import/(?:import-(?:scrapyd|schedules)|copy-blobs)\\.ts$|backup/(?:(?:make|read)-backup|open-source)\\.ts$|projects/egg-builder\\.ts$|store/copy/copy-store\\.ts$|store/audit/chain\\.ts$)'
      }
    },
    {
      name: 'only-store-knows-sql',
      comment: 'Only src/engine/storage speaks SQL and loads its drivers. Add a verb to Store instead.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/engine/storage/' },
      to: { path: '(^|node_modules/)(@types/)?(better-sqlite3|kysely|pg)(/|$)' }
    },
    {
      name: 'testing-only-in-tests',
      comment: 'src/*/testing holds builders and fakes for tests. The product must not ship them.',
      severity: 'error',
      from: { path: '^src/', pathNot: TESTS },
      to: { path: '^src/.*/testing/' }
    },
    {
      name: 'service-without-electron',
      comment: 'The service (server, config, remote, cli) runs where no Electron is: it must not reach electron, not even through other files.',
      severity: 'error',
      from: { path: '^src/(server|config|remote|cli)/' },
      to: { path: '(^|node_modules/)electron(/|$)', reachable: true }
    },
    {
      name: 'server-knows-no-host',
      comment: 'The server is opened by cli and main, with what config has read; it knows none of them.',
      severity: 'error',
      from: { path: '^src/server/' },
      to: { path: '^src/(config|remote|main|cli)/' }
    },
    {
      name: 'config-knows-no-host',
      comment: 'What can be set is read alike for both hosts: config knows neither main nor cli.',
      severity: 'error',
      from: { path: '^src/config/' },
      to: { path: '^src/(remote|main|cli)/' }
    },
    {
      name: 'remote-knows-no-host',
      comment: 'How other engines are reached is the same for both hosts: remote knows neither main nor cli, nor config.',
      severity: 'error',
      from: { path: '^src/remote/' },
      to: { path: '^src/(config|main|cli)/' }
    },
    {
      name: 'hosts-apart',
      comment: 'main (desktop) and cli (service) are two hosts of one engine: what both need belongs in remote, config, server or engine.',
      severity: 'error',
      from: { path: '^src/(main|cli)/' },
      to: { path: '^src/(main|cli)/', pathNot: '^src/$1/' }
    },
    {
      name: 'renderer-speaks-the-contract',
      comment: 'The renderer knows src/shared alone: what it wants from an engine goes through the contract. No engine types either.',
      severity: 'error',
      from: { path: '^src/renderer/' },
      to: { path: '^src/(?!shared/|renderer/)' }
    },
    {
      name: 'renderer-is-a-web-page',
      comment: 'The renderer runs in a sandboxed page and in browsers: no modules of Node.',
      severity: 'error',
      from: { path: '^src/renderer/', pathNot: TESTS },
      to: { dependencyTypes: ['core'] }
    },
    {
      name: 'only-desktop-knows-electron',
      comment: 'Only src/main and src/preload know electron. The renderer gets what it needs through the wire.',
      severity: 'error',
      from: { path: '^src/(shared|renderer)/' },
      to: { path: '(^|node_modules/)electron(/|$)' }
    },
    {
      name: 'renderer-features-are-islands',
      comment: 'One feature of the renderer never imports another. What both show belongs in ui/, api/ or state/.',
      severity: 'error',
      from: { path: '^src/renderer/features/([^/]+)/', pathNot: TESTS },
      to: { path: '^src/renderer/features/', pathNot: '^src/renderer/features/$1/' }
    },
    {
      name: 'preload-knows-the-wire-only',
      comment: 'The preload is one small sandboxed bundle: electron and src/shared, nothing else.',
      severity: 'error',
      from: { path: '^src/preload/' },
      to: { path: '^src/(?!shared/|preload/)|node_modules/', pathNot: 'node_modules/electron/' }
    },
    ...roomRules
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: path.join(__dirname, 'tsconfig.base.json') },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
      extensions: ['.ts', '.tsx', '.js', '.json', '.css']
    }
  }
}
