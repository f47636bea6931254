const path = require('node:path')

/**
 * The borders of the house (design: one direction everywhere). Each comment is what you read when you cross one.
 * Types count as imports: a type is a dependency too.
 */

/** The wings of the engine, in the order in which work walks through them. A wing imports only wings further down. */
const WINGS = [
  'assembly',
  'api',
  'monitoring',
  'maintenance',
  'jobs',
  'runs',
  'schedules',
  'notify',
  'nodes',
  'projects',
  'cluster',
  'access',
  'storage',
  'model',
  'runtime'
]

/**
 * What a wing offers to the others; the rest of it is private. `runtime` and `model` are offered whole. Assembly opens
 * the wings, so it may import anything.
 */
const FACES = {
  monitoring: ['open-monitoring', 'alerts/(alerts|past/preview|evidence/evidence|report/reports)', 'expectations/expectation-watch', 'health/figures'],
  maintenance: ['open-maintenance', 'backup/(make-backup|open-source|read-backup)', 'retention/(retention|disk)'],
  jobs: ['open-jobs', 'dispatch/(dispatch|live-attempts|decide/watchdog)', 'queue/(limits|waiting-reasons)', 'outcome/outcome'],
  runs: [
    'open-(archives|runs)',
    'items/job-items',
    'log-collector/(error-groups|items-archive|job-figures|log-collector|log-reading)',
    'log-parser/(closing-stats|figures|log-parser)',
    'logs/(job-logs|log-zips|archive/(log-archive|log-copies))',
    'search/(fleet-search|log-index)'
  ],
  schedules: ['open-schedules', 'failures', 'backfills', 'scheduler', 'template', 'whose-past', 'moments'],
  notify: [
    'deliveries/(addresses|deliverer|open-deliveries|post|send-to-webhook|signature)',
    'deliveries/channels/(channels|desktop|evidence|message|seen-news|words)',
    'plugins/(node-chooser|plugin|plugins)'
  ],
  nodes: [
    '(clock-offset|fleet|inventories|list-limits|node-checks|node-client|node-failure|open-nodes)',
    'discovery/(check-source|discovery)',
    'kubernetes/(cluster-address|cluster-url|credential-files)',
    'local/(local-node|optional-local-node|pythons/environments|runs/file-range)',
    'peers/(engine-node-id|engine-nodes|hosted-node)',
    'pulling/(node-token|pulling-nodes)',
    'scrapyd/(certificates|node-url|probe|proxy)',
    'ssh/(connect-through|ssh-tunnels)'
  ],
  projects: [
    '(catalog|distribution|egg-builder|egg-files|egg-inspection|egg-intake|egg-tree|names|open-projects|projects|seen-on-nodes|spider-lookup)'
  ],
  cluster: ['leadership/(join-engines|leadership|other-certificates)', 'cache/(open-cache|shared-answers|shared-cache|store-position|token-buckets?)'],
  access: [
    '(access|acting|open-access|principal|rights|run-rights|sign-ins)',
    'audit/(audit|syslog)',
    'second-factor/(second-factors|codes|webauthn)'
  ],
  storage: [
    '(dedupe-key|lease-table|log-blocks|open-storage|require-job|scrapyd-databases|shared-queue-table|store|timer-databases)',
    'audit/(audited-store|chain)',
    'blobs/(blob-store|blobs-place|incoming-files|shared-blobs)',
    'blobs/(directory/(open-directory-blobs|shared-directory)|filesystem/filesystem-blob-store|s3/(open-s3-blobs|upload))',
    'blobs/sealed/sealed-(blob-store|format|reader|streams)',
    'copy/copy-store',
    'postgres/(lease-table|postgres-driver|postgres-error)',
    'sqlite/(directory-lock|open-sqlite-store|snapshot)',
    'thread/store-thread'
  ]
}

/** Tests, and what only tests load. */
const TESTS = '\\.test\\.tsx?$|/testing/'

const orderRules = WINGS.slice(1).map((wing, index) => {
  const earlier = WINGS.slice(0, index + 1)
  return {
    name: `engine-order-${wing}`,
    comment: `src/engine/${wing} comes after ${earlier.join(', ')} and imports none of them: results travel back as return values, rows and events. Move what is shared further down, or pass it as an argument from src/engine/assembly.`,
    severity: 'error',
    from: { path: `^src/engine/${wing}/`, pathNot: TESTS },
    to: { path: `^src/engine/(${earlier.join('|')})/` }
  }
})

const faceRules = Object.entries(FACES).map(([wing, files]) => ({
  name: `engine-face-${wing}`,
  comment: `This file of src/engine/${wing} is private to its wing. Use what the wing offers, or add the file to FACES in .dependency-cruiser.cjs and to the README of the wing.`,
  severity: 'error',
  from: { path: '^src/engine/', pathNot: `^src/engine/(${wing}|assembly)/|^src/engine/[^/]+$|${TESTS}` },
  to: { path: `^src/engine/${wing}/`, pathNot: `^src/engine/${wing}/(${files.join('|')})\\.ts$` }
}))

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
        pathNot: '^src/engine/(index\\.ts$|runtime/|cluster/cache/(shared-cache|shared-answers|token-buckets?)\\.ts$|storage/blobs/incoming-files\\.ts$|access/(principal|acting|rights|sign-ins|audit/audit)\\.ts$|nodes/ssh/(ssh-tunnels|connect-through)\\.ts$|api/router/router\\.ts$|api/scrapyd-commands/scrapyd-(commands|shapes|for)\\.ts$|api/import/(?:import-(?:scrapyd|schedules)|copy-blobs)\\.ts$|maintenance/backup/(?:(?:make|read)-backup|open-source)\\.ts$|projects/egg-builder\\.ts$|storage/copy/copy-store\\.ts$|storage/audit/chain\\.ts$)'
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
    ...orderRules,
    ...faceRules
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
