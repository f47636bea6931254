/** How Scrapdeck treats an option of `[scrapyd]`; docs/configuration.md tells users the same. */
export type Treatment =
  | { kind: 'honoured' }
  /** Accepts any value; it has no effect here, and `scrapdeck config` says why. */
  | { kind: 'needless'; why: string }
  /** Names of Python classes: these values match what Scrapdeck does anyway; others are rejected. */
  | { kind: 'fixed'; values: string[]; why: string }

const NO_CLASSES =
  'Scrapdeck has no Python in the service that could load it. Remove the line, or keep Scrapyd for this and add it to Scrapdeck as a node.'

const HONOURED = [
  ...['bind_address', 'http_port', 'unix_socket_path', 'username', 'password', 'prefix_header', 'node_name', 'debug'],
  ...[
    'max_proc',
    'max_proc_per_cpu',
    'logs_dir',
    'items_dir',
    'jobs_dir',
    'eggs_dir',
    'jobs_to_keep',
    'finished_to_keep'
  ],
  ...['rate_limiting_enabled', 'rate_limit_max_requests', 'rate_limit_window']
]

/** Every option of Scrapyd 1.6 (scrapyd-protocol.md, 8). Other names cause a warning. */
export const SCRAPYD_OPTIONS: Readonly<Record<string, Treatment>> = {
  ...Object.fromEntries(HONOURED.map((name) => [name, { kind: 'honoured' as const }])),
  jobstorage: {
    kind: 'fixed',
    values: ['scrapyd.jobstorage.MemoryJobStorage', 'scrapyd.jobstorage.SqliteJobStorage'],
    why: NO_CLASSES
  },
  poll_interval: { kind: 'needless', why: 'jobs start as soon as a slot is free' },
  dbs_dir: {
    kind: 'needless',
    why: 'the queue and the history are in the data directory; import-scrapyd reads dbs_dir'
  },
  application: { kind: 'fixed', values: ['scrapyd.app.application'], why: NO_CLASSES },
  spiderqueue: { kind: 'fixed', values: ['scrapyd.spiderqueue.SqliteSpiderQueue'], why: NO_CLASSES },
  poller: { kind: 'fixed', values: ['scrapyd.poller.QueuePoller'], why: NO_CLASSES },
  launcher: { kind: 'fixed', values: ['scrapyd.launcher.Launcher'], why: NO_CLASSES },
  eggstorage: { kind: 'fixed', values: ['scrapyd.eggstorage.FilesystemEggStorage'], why: NO_CLASSES },
  webroot: { kind: 'fixed', values: ['scrapyd.website.Root'], why: NO_CLASSES },
  runner: {
    kind: 'fixed',
    values: ['scrapyd.runner'],
    why: 'Scrapdeck starts spiders with a runner of its own (resources/python). Put what yours does into the project, or into its Python (sitecustomize).'
  }
}

/** `[services]` of Scrapyd 1.6. */
export const SCRAPYD_SERVICES: Readonly<Record<string, string>> = {
  'schedule.json': 'scrapyd.webservice.Schedule',
  'cancel.json': 'scrapyd.webservice.Cancel',
  'status.json': 'scrapyd.webservice.Status',
  'addversion.json': 'scrapyd.webservice.AddVersion',
  'listprojects.json': 'scrapyd.webservice.ListProjects',
  'listversions.json': 'scrapyd.webservice.ListVersions',
  'listspiders.json': 'scrapyd.webservice.ListSpiders',
  'delproject.json': 'scrapyd.webservice.DeleteProject',
  'delversion.json': 'scrapyd.webservice.DeleteVersion',
  'listjobs.json': 'scrapyd.webservice.ListJobs',
  'daemonstatus.json': 'scrapyd.webservice.DaemonStatus'
}
