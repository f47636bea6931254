import type { ServeFlags } from './serve-options.ts'

/**
 * Every option that Scrapdeck accepts: where it can be set and what it does. The readers, `scrapdeck config` and
 * the notes on startup use this table. A test checks docs/configuration.md against it.
 */
export interface OptionRow {
  /** `variables`: set only by environment variables, which belong to a system that operators migrate from. */
  section: 'scrapyd' | 'scrapdeck' | 'cache' | 'metrics' | 'variables'
  name: string
  flag?: keyof ServeFlags | undefined
  /** Environment variables, in order of precedence. */
  variables: readonly string[]
  /**
   * Whether a discovered file can set the option. Must be false for code, paths, nodes and access rights, because the
   * file may belong to someone else's project.
   */
  mayBeDiscovered: boolean
  /** Whether the option names a file with a secret of this service, which must never be sent anywhere. */
  holdsSecret?: boolean
  meaning: Meaning
}

export type Meaning =
  | { kind: 'honoured' }
  /** Accepted with any value, but without effect. `scrapdeck config` explains why. */
  | { kind: 'needless'; why: string }
  /** Accepted, but replaced by something else. The log explains this on each start. */
  | { kind: 'noted'; why: string }
  /** Names a Python class that Scrapdeck replaces. Known classes are noted, others are refused. */
  | { kind: 'class'; standard: readonly string[]; known: RegExp; serves: string; why: string }

const HONOURED: Meaning = { kind: 'honoured' }
const needless = (why: string): Meaning => ({ kind: 'needless', why })
const noted = (why: string): Meaning => ({ kind: 'noted', why })

interface More {
  meaning?: Meaning
  flag?: keyof ServeFlags
  before?: string[]
  after?: string[]
  mayBeDiscovered?: boolean
  holdsSecret?: boolean
}

/** Example: `max_proc` in [scrapyd] is SCRAPYD_MAX_PROC; `plugins` in [scrapdeck] is SCRAPDECK_PLUGINS. */
function row(section: 'scrapyd' | 'scrapdeck', name: string, more: More = {}): OptionRow {
  const { meaning = HONOURED, flag, before = [], after = [], mayBeDiscovered = false, holdsSecret = false } = more
  const variables = [...before, `${section}_${name}`.toUpperCase(), ...after]
  return { section, name, flag, variables, mayBeDiscovered, holdsSecret, meaning }
}

/** Example: `host` in [cache] is SCRAPYD_CACHE_HOST. */
function subsectionRow(section: 'cache' | 'metrics', name: string, meaning: Meaning = HONOURED): OptionRow {
  const variables = [`SCRAPYD_${section}_${name}`.toUpperCase()]
  return { section, name, variables, mayBeDiscovered: true, meaning }
}

const variableRow = (name: string, meaning: Meaning): OptionRow => ({
  section: 'variables',
  name,
  variables: [name],
  mayBeDiscovered: false,
  meaning
})

const SECRET = { holdsSecret: true }
const HARMLESS = { mayBeDiscovered: true }
const NO_CLASSES =
  'Scrapdeck has no Python in the service that could load it. Remove the line, or keep Scrapyd for this and add it to Scrapdeck as a node.'
const OF_SCRAPYD = /^scrapyd\.[\w.]+$/
const DATABASES = 'postgres|psycopg|mysql|mongo|redis|sqlalchemy|rabbitmq|amqp'
const SHARED =
  'is in a database in the data directory; several Scrapdecks share one in PostgreSQL: store = postgres://USER@HOST:5432/DATABASE in [scrapdeck]'

function classRow(name: string, standard: string[], serves: string, { known = '', why = NO_CLASSES } = {}): OptionRow {
  const pattern = known === '' ? OF_SCRAPYD : new RegExp(`${OF_SCRAPYD.source}|${known}`, 'i')
  return row('scrapyd', name, { ...HARMLESS, meaning: { kind: 'class', standard, known: pattern, serves, why } })
}

const ONE_CONNECTION = 'one connection to the shared cache carries all calls of an engine at once'
const NO_CACHE_LIMIT =
  'spider lists and metadata are kept in the database, without a limit or an expiry, and renewed when they change'

const CONNECTIONS =
  'Scrapdeck keeps few connections to each node by itself; for clients, set max_connections and max_connections_per_address in [scrapdeck]'

export const OPTIONS: readonly OptionRow[] = [
  row('scrapyd', 'bind_address', { flag: 'bind', before: ['SCRAPDECK_BIND'] }),
  row('scrapyd', 'http_port', { flag: 'port', before: ['SCRAPDECK_PORT'], ...HARMLESS }),
  row('scrapyd', 'unix_socket_path', { flag: 'unixSocket', before: ['SCRAPDECK_UNIX_SOCKET'] }),
  row('scrapyd', 'username', { flag: 'username', before: ['SCRAPDECK_USERNAME'] }),
  row('scrapyd', 'password', { flag: 'password', before: ['SCRAPDECK_PASSWORD'] }),
  ...['eggs_dir', 'logs_dir', 'items_dir', 'jobs_dir'].map((name) => row('scrapyd', name)),
  ...[
    ...['max_proc', 'max_proc_per_cpu', 'jobs_to_keep', 'finished_to_keep', 'node_name', 'debug', 'prefix_header'],
    ...['rate_limiting_enabled', 'rate_limit_max_requests', 'rate_limit_window'],
    ...['process_pool_enabled', 'process_pool_size', 'process_startup_timeout']
  ].map((name) => row('scrapyd', name, HARMLESS)),
  row('scrapyd', 'poll_interval', { meaning: needless('jobs start as soon as a slot is free'), ...HARMLESS }),
  row('scrapyd', 'dbs_dir', {
    meaning: needless('the queue and the history are in the data directory; import-scrapyd reads dbs_dir')
  }),
  row('scrapyd', 'execution_ref', {
    meaning: noted(
      'several Scrapdecks are kept apart in one database by their namespace: store = postgres://USER@HOST:5432/DATABASE?namespace=NAME in [scrapdeck]'
    ),
    ...HARMLESS
  }),
  // If redis_url has an effect, read-cache-options.ts refuses it in a discovered file.
  row('scrapyd', 'redis_url', HARMLESS),
  ...['cache_backend', 'cache_default_ttl', 'redis_compression_threshold'].map((name) =>
    row('scrapyd', name, HARMLESS)
  ),
  row('scrapyd', 'redis_max_connections', { meaning: needless(ONE_CONNECTION), ...HARMLESS }),
  row('scrapyd', 'cache_max_size', { meaning: needless(NO_CACHE_LIMIT), ...HARMLESS }),
  ...['aiohttp_connector_limit', 'aiohttp_connector_limit_per_host'].map((name) =>
    row('scrapyd', name, { meaning: noted(CONNECTIONS), ...HARMLESS })
  ),
  classRow('application', ['scrapyd.app.application'], 'Scrapdeck is an asynchronous service of its own', {
    known: `(${DATABASES})`
  }),
  classRow('spiderqueue', ['scrapyd.spiderqueue.SqliteSpiderQueue'], `the queue ${SHARED}`, {
    known: `(${DATABASES})`
  }),
  classRow(
    'jobstorage',
    ['scrapyd.jobstorage.MemoryJobStorage', 'scrapyd.jobstorage.SqliteJobStorage'],
    `the history ${SHARED}`,
    { known: `(${DATABASES})` }
  ),
  classRow(
    'eggstorage',
    ['scrapyd.eggstorage.FilesystemEggStorage'],
    'eggs are kept in the data directory and eggs_dir, or on S3: blobs = s3://BUCKET/PREFIX?region=REGION in [scrapdeck]',
    { known: `(s3|gcs|azure|minio|${DATABASES})` }
  ),
  classRow('poller', ['scrapyd.poller.QueuePoller'], 'the dispatcher starts jobs as soon as a slot is free'),
  classRow('launcher', ['scrapyd.launcher.Launcher'], 'the local node starts and watches spiders'),
  classRow('webroot', ['scrapyd.website.Root'], 'the Scrapyd API, /jobs, /logs and /items are built in'),
  classRow('runner', ['scrapyd.runner'], 'the local node has a runner of its own', {
    why: 'Scrapdeck starts spiders with a runner of its own (resources/python). Put what yours does into the project, or into its Python (sitecustomize).'
  }),

  row('scrapdeck', 'data', { flag: 'data' }),
  row('scrapdeck', 'store', { flag: 'store' }),
  row('scrapdeck', 'store_password_file', SECRET),
  row('scrapdeck', 'password_file', SECRET),
  row('scrapdeck', 'secret_key_file', SECRET),
  row('scrapdeck', 'encryption_key_file', SECRET),
  row('scrapdeck', 'encryption_key_command'),
  row('scrapdeck', 'engine_name'),
  row('scrapdeck', 'engine_address'),
  row('scrapdeck', 'blobs', { flag: 'blobs' }),
  row('scrapdeck', 'blobs_cache_mb'),
  row('scrapdeck', 'blobs_credentials_file', SECRET),
  row('scrapdeck', 'cache', { flag: 'cache' }),
  row('scrapdeck', 'cache_password_file', SECRET),
  ...['cache_ttl', 'cache_max_size', 'cache_compression_threshold'].map((name) => row('scrapdeck', name, HARMLESS)),
  row('scrapdeck', 'python', { flag: 'python' }),
  row('scrapdeck', 'ssh_program'),
  row('scrapdeck', 'local_slots', { flag: 'localSlots', ...HARMLESS }),
  ...['warm_starts', 'warm_parents', 'warm_parked', 'warm_wait'].map((name) => row('scrapdeck', name, HARMLESS)),
  ...['keep_spiders_apart', 'spider_users'].map((name) => row('scrapdeck', name)),
  row('scrapdeck', 'log_level', HARMLESS),
  row('scrapdeck', 'metrics_prefix', HARMLESS),
  row('scrapdeck', 'metrics_from'),
  row('scrapdeck', 'allowed_hosts', { flag: 'allowedHost', after: ['SCRAPDECK_ALLOWED_HOST'] }),
  row('scrapdeck', 'cancel_waits', HARMLESS),
  row('scrapdeck', 'audit_days'),
  row('scrapdeck', 'audit_syslog'),
  row('scrapdeck', 'audit_syslog_ca'),
  row('scrapdeck', 'life_url'),
  row('scrapdeck', 'life_every'),
  row('scrapdeck', 'crawl_cache_ttl', { after: ['CRAWL_CACHE_TTL'], ...HARMLESS }),
  ...[
    'nodes',
    'discover',
    'plugins',
    'webhook_networks',
    'alert_commands',
    'cluster_credential_directories',
    'trusted_proxies',
    'trusted_engines'
  ].map((name) => row('scrapdeck', name)),
  row('scrapdeck', 'tls_certificate', { flag: 'tlsCertificate' }),
  row('scrapdeck', 'tls_self_made', { flag: 'tlsSelfMade' }),
  row('scrapdeck', 'tls_client_ca', { flag: 'tlsClientCa' }),
  row('scrapdeck', 'http_redirect_port', { flag: 'httpRedirectPort' }),
  row('scrapdeck', 'behind_proxy', { flag: 'behindProxy' }),
  row('scrapdeck', 'allow_plain_http', { flag: 'allowPlainHttp' }),
  row('scrapdeck', 'tls_key', { flag: 'tlsKey', ...SECRET }),
  row('scrapdeck', 'public_url'),
  row('scrapdeck', 'require_second_factor'),
  ...['issuer', 'client_id', 'client_secret', 'scopes', 'name_claim', 'groups_claim', 'roles']
    .concat('label', 'session_hours')
    .map((name) => row('scrapdeck', `oidc_${name}`)),
  row('scrapdeck', 'oidc_client_secret_file', SECRET),
  ...['issuer', 'audience', 'jwks_url', 'name_claim', 'groups_claim', 'roles'].map((name) =>
    row('scrapdeck', `jwt_${name}`)
  ),
  ...['user_header', 'groups_header', 'groups_separator', 'addresses', 'roles'].map((name) =>
    row('scrapdeck', `proxy_${name}`)
  ),
  row('scrapdeck', 'plugin_roles'),
  ...['api_rate_limit', 'rate_limit', 'open_rate_limit', 'api_requests_per_second'].map((name) =>
    row('scrapdeck', name, HARMLESS)
  ),
  ...['max_connections', 'max_connections_per_address'].map((name) => row('scrapdeck', name, HARMLESS)),

  ...['backend', 'host', 'port', 'db', 'compression_threshold', 'default_ttl'].map((name) =>
    subsectionRow('cache', name)
  ),
  subsectionRow('cache', 'max_connections', needless(ONE_CONNECTION)),
  ...['enabled', 'namespace'].map((name) => subsectionRow('metrics', name)),
  subsectionRow('metrics', 'registry', needless('there is one registry')),
  subsectionRow('metrics', 'export_interval', needless('figures are read at each scrape')),

  variableRow('SCRAPYD_URL', HONOURED),
  variableRow('LOG_LEVEL', HONOURED),
  ...['REDIS_HOST', 'REDIS_PORT', 'REDIS_DB'].map((name) =>
    variableRow(
      name,
      noted(`the queue ${SHARED}, and with them a Redis for what is short-lived: cache = redis://HOST:6379/0`)
    )
  ),
  ...['MONGO_URI', 'RABBITMQ_URL'].map((name) => variableRow(name, noted(`the queue, with the history, ${SHARED}`)))
]

const BY_NAME = new Map(OPTIONS.map((option) => [`${option.section}\n${option.name}`, option]))

export const findOption = (section: string, name: string): OptionRow | undefined => BY_NAME.get(`${section}\n${name}`)

export const namesIn = (section: OptionRow['section']): string[] =>
  OPTIONS.filter((option) => option.section === section).map(({ name }) => name)
