import { availableParallelism, homedir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command, CommanderError, Option } from 'commander'
import type { KeyPlace } from './make-key.ts'
import { EXIT_CODES, exitCodeOf } from './client/exit-codes.ts'
import { textOfError, sayUsageErrors } from './client/error-text.ts'
import {
  safeJson,
  type LocalFlags,
  type LocalService,
  type Terminal,
  withoutControls,
  findBrowser
} from './client/terminal.ts'
import type { OptionContext } from '../config/option-reader.ts'
import {
  type Configuration,
  type ConfigurationFile,
  listInstalledFiles,
  listScrapydFiles,
  readConfiguration
} from '../config/read-files.ts'
import { resolveLocalService } from '../config/local-service.ts'
import { maskCredentials } from '../shared/secret-values.ts'
import type { ResolvedOptions, ServeFlags } from '../config/serve-options.ts'
import type { BackupFlags, RestoreFlags } from './backup.ts'
import { defaultDataDirectory } from './default-directories.ts'
import type { CopyFlags } from './copy-store.ts'
import type { ImportFlags } from './import-scrapyd.ts'
import { keepHeapSmall } from './keep-heap-small.ts'
import { readPackageVersion } from './package-paths.ts'

keepHeapSmall()

// npm runs scripts in the checkout, but file names and scrapyd.conf are relative to where npm was called.
if (['serve', 'start', 'scrapdeck'].includes(process.env['npm_lifecycle_event'] ?? '')) {
  process.chdir(process.env['INIT_CWD'] ?? '.')
}

const ownDataDirectory = defaultDataDirectory({
  platform: process.platform,
  environment: process.env,
  homeDirectory: homedir()
})

const PORT_HELP = 'port to listen on (default 6800; 0: any free port)'
const DATA_HELP = `data directory (default ${ownDataDirectory})`
const SERVICE_DATA_HELP = `where the service keeps its data (default ${ownDataDirectory})`
const CONFIG_HELP = 'the one configuration file to read (default: those that Scrapyd reads, see docs/configuration.md)'
const JSON_HELP = 'print it as JSON'

interface Flags extends ServeFlags {
  config?: string | undefined
  json?: boolean
}

const program = new Command('scrapdeck')
  .description('One queue for a fleet of Scrapyd nodes.')
  .version(readPackageVersion())
  // After a subcommand, --version is a project's version.
  .enablePositionalOptions()
  .exitOverride()
sayUsageErrors(program, process.argv.includes('--json'))

function serviceCommand(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--port <number>', PORT_HELP)
    .option('--data <directory>', DATA_HELP)
    .option(
      '--store <address>',
      'sqlite, or postgres://USER@HOST:5432/DATABASE (default: sqlite, in the data directory)'
    )
    .option(
      '--blobs <address>',
      's3://BUCKET/PREFIX?endpoint=…, or a directory that all engines share (default: files, in the data directory)'
    )
    .option('--cache <address>', 'memory, or redis://HOST:6379/0, shared with other engines (default: memory)')
    .option('--config <file>', CONFIG_HELP)
    .option('--bind <address>', 'address to listen on (default 127.0.0.1)')
    .option('--unix-socket <path>', 'also listen on this Unix socket')
    .option('--tls-certificate <file>', 'speak HTTPS with this certificate (PEM), read again when it changes')
    .option('--tls-key <file>', 'the key of that certificate')
    .option('--tls-self-made', 'speak HTTPS with a certificate of its own authority (see "scrapdeck ca")')
    .option('--tls-client-ca <file>', 'accept only clients with a certificate of this authority (PEM)')
    .option('--http-redirect-port <number>', 'with TLS: redirect plain HTTP on this port to HTTPS')
    .option('--behind-proxy', 'a proxy with TLS is in front (trusted_proxies; default: one on this machine)')
    .option('--allow-plain-http', 'listen beyond this machine without TLS: passwords can be intercepted')
    .option('--username <name>', 'user name of the API (default: generated on first start)')
    .option(
      '--password <password>',
      'password of the API; better in SCRAPDECK_PASSWORD, where other users cannot see it'
    )
    .option('--local-slots <number>', 'spiders at once on this machine (default: the number of CPUs; 0: none)')
    .option('--python <path>', 'the Python that runs spiders on this machine')
    .option('--allowed-host <host...>', 'additional host names under which browsers may reach the service')
}

serviceCommand('serve', 'Run the headless service: the queue, the API, the Scrapyd-compatible API and the web UI.')
  .option('--json', 'print the ready message as JSON, and log JSON lines')
  .option('--readable-log', 'log lines for people, also where standard error is no terminal')
  .action(async (flags: Flags & { readableLog?: boolean }) => {
    const { startStoreThread } = await import('../engine/index.ts')
    // The store loads slowly, so start loading it before the options are read. Invalid options still end the process.
    const storeThread = startStoreThread()
    storeThread.unref()
    const { serve } = await import('./serve.ts')
    const { options, warnings } = await resolve(flags)
    await serve(options, { warnings, asJson: flags.json === true, forPeople: flags.readableLog === true, storeThread })
  })

serviceCommand('config', 'Show the value of every option and where it comes from.')
  .option('--json', JSON_HELP)
  .action(async (flags: Flags) => {
    const { describeConfiguration } = await import('../config/resolve.ts')
    const { files } = configurationOf(flags)
    const resolved = await resolve(flags)
    const { listed, warnings } = resolved
    writeAnswer(flags, { files, options: listed, warnings }, describeConfiguration(files, resolved))
  })

program
  .command('import-scrapyd <directory>')
  .description(
    'Import the eggs, pending and finished jobs, logs and items of a stopped Scrapyd that was started in this directory. Its files are not changed; safe to repeat.'
  )
  .option('--dry-run', 'show what would be imported, write nothing')
  .option('--config <file>', "the Scrapyd's configuration file (default: those it reads when started there)")
  .option('--even-if-running', 'continue even if a Scrapyd seems to be running')
  .option('--shared-queue <url>', 'also import the table spider_job of postgres://USER@HOST:5432/DATABASE')
  .option('--execution-ref <name>', 'of that table, only the jobs of this deployment')
  .option('--password-file <file>', 'its first line is the password of that database')
  .option('--data <directory>', SERVICE_DATA_HELP)
  .option('--service-config <file>', CONFIG_HELP)
  .option('--json', JSON_HELP)
  .action(async (directory: string, flags: Flags & ImportFlags) => {
    const { runImport } = await import('./import-scrapyd.ts')
    const { resolveServeOptions } = await import('../config/resolve.ts')
    const report: string[] = []
    const service = { ...flags, config: flags.serviceConfig }
    const context = contextOf(service, configurationOf(service))
    const { options } = resolveServeOptions({ ...context, configFlag: '--service-config' })
    const counts = await runImport(directory, flags, options, (line) => {
      report.push(line)
      if (flags.json !== true) process.stdout.write(`${line}\n`)
    })
    const isDryRun = flags.dryRun === true
    if (flags.json === true) writeAnswer(flags, { dryRun: isDryRun, counts, report }, '')
  })

program
  .command('copy-blobs <from> <to>')
  .description(
    'Copy eggs, archived logs and kept items between a data directory, s3://BUCKET/PREFIX?endpoint=… and file:///SHARED/DIRECTORY, in any direction. Verifies each; safe to repeat after an interruption. Deletes nothing.'
  )
  .option('--even-if-running', 'continue even if the service of this machine uses one of them')
  .option('--data <directory>', SERVICE_DATA_HELP)
  .option('--config <file>', CONFIG_HELP)
  .option('--json', JSON_HELP)
  .action(async (from: string, to: string, flags: Flags & { evenIfRunning?: boolean }) => {
    const { runCopyBlobs } = await import('./copy-blobs.ts')
    const { options } = await resolve(flags)
    const counts = await runCopyBlobs({ from, to, evenIfRunning: flags.evenIfRunning === true }, options, (line) => {
      if (flags.json !== true) process.stdout.write(`${line}\n`)
    })
    if (flags.json === true) writeAnswer(flags, counts, '')
  })

program
  .command('make-key <file>')
  .description(
    'Make a key file for encryption_key_file, which encrypts eggs, logs and items at rest. Only you can read it. Keep a copy elsewhere: without it, what it encrypted is lost.'
  )
  .addOption(
    new Option(
      '--add <place>',
      'add a new key to the file: first (it encrypts from the next start on) or last'
    ).choices(['first', 'last'])
  )
  .option('--json', JSON_HELP)
  .action(async (file: string, flags: Flags & { add?: KeyPlace }) => {
    const { makeKey } = await import('./make-key.ts')
    const id = await makeKey(file, flags.add ?? null, Date.now())
    writeAnswer(flags, { file, keyId: id }, `The key ${id} is in ${file}. Keep a copy of the file elsewhere.\n`)
  })

program
  .command('copy-store <from> <to>')
  .description(
    'Copy the queue, history and settings from SQLite to PostgreSQL, or back, and compare every row. Each is a data directory, or postgres://USER@HOST:5432/DATABASE. Stop the service first. An interrupted copy continues when the command is repeated.'
  )
  .option('--password-file <file>', "its first line is the database's password")
  .option('--restart', 'delete what an interrupted copy has left, and begin anew')
  .option('--json', JSON_HELP)
  .action(async (from: string, to: string, flags: CopyFlags) => {
    const { runCopy } = await import('./copy-store.ts')
    const { result, text } = runCopy(from, to, flags, (line) => terminal.error(`${line}\n`))
    writeAnswer(flags, result, text)
  })

program
  .command('backup <file>')
  .description(
    'Write the database, eggs, logs and items into one encrypted file, while the service runs; - is standard output. Run it as the user of the service. --verify checks a backup instead.'
  )
  .option('--verify', 'read a backup to its end: every frame, every file and the database in it')
  .option('--with-secrets', 'also secret.key, the password of the service and its own certificate; only if encrypted')
  .option('--with-blobs', 'also eggs, logs and items that are on S3 or in a shared directory')
  .option('--not-encrypted', 'write it unencrypted: anyone with the file can read it')
  .option('--data <directory>', SERVICE_DATA_HELP)
  .option('--config <file>', CONFIG_HELP)
  .option('--json', JSON_HELP)
  .action(async (file: string, flags: Flags & BackupFlags) => {
    const { describeBackup, describeVerified, runBackup, runVerify } = await import('./backup.ts')
    const { options } = await resolve(flags)
    if (flags.verify === true) {
      const checked = await runVerify(file, options, progressOf())
      return writeAnswer(flags, checked, describeVerified(checked))
    }
    const result = await runBackup(file, flags, options, progressOf())
    const text = describeBackup(file, result, options)
    // Standard output may be the backup itself.
    if (file === '-') return terminal.error(flags.json === true ? `${JSON.stringify(result)}\n` : text)
    writeAnswer(flags, result, text)
  })

program
  .command('restore <file>')
  .description(
    'Make a data directory from a backup, checked to its last byte; - is standard input. The service must not run with it yet.'
  )
  .requiredOption('--data <directory>', 'the data directory to make; there must be nothing in it')
  .option('--key-file <file>', 'keys that open the backup (default: those that are configured)')
  .option('--paused', 'pause dispatch: queued jobs wait until you resume it')
  .option('--config <file>', CONFIG_HELP)
  .option('--json', JSON_HELP)
  .action(async (file: string, flags: Flags & RestoreFlags) => {
    const { describeRestored, runRestore } = await import('./backup.ts')
    const { options } = await resolve(flags)
    const restored = await runRestore(file, flags, options, progressOf())
    writeAnswer(flags, restored, describeRestored(options.dataDirectory, flags.paused === true, restored))
  })

/** For slow commands: `print` writes a line to standard error, and `signal` aborts on the first signal. */
function progressOf(): { print: (line: string) => void; signal: AbortSignal } {
  process.once('SIGTERM', () => interruption.abort())
  return { print: (line) => terminal.error(`${line}\n`), signal: terminal.interrupted }
}

/** Adds a command about the service that runs, or would run, on this machine. */
function localCommand(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--data <directory>', SERVICE_DATA_HELP)
    .option('--port <number>', 'port of the service (default 6800)')
    .option('--config <file>', CONFIG_HELP)
    .option('--json', JSON_HELP)
}

localCommand('credentials', 'Show the user name and the password, with a ready snippet for scrapy.cfg.').action(
  async (flags: Flags) => {
    const { describeCredentials, requireCredentials } = await import('./credentials.ts')
    const { findRunningService } = await import('../server/service-file.ts')
    const { dataDirectory, port: usual } = localServiceOf(flags)
    const running = await findRunningService(dataDirectory)
    const address = running?.startsWith('http') ? running : `http://127.0.0.1:${usual ?? 0}`
    const elsewhere = process.env['SCRAPDECK_URL'] ?? ''
    if (elsewhere !== '' && URL.parse(elsewhere)?.origin !== URL.parse(address)?.origin) {
      const what = 'A password is only on the machine of its service.'
      const other = `SCRAPDECK_URL (${maskCredentials(elsewhere)})`
      terminal.error(`These are the credentials of ${address}, not of ${other}. ${what}\n`)
    }
    const answer = { ...requireCredentials(dataDirectory), port: Number(new URL(address).port || 80) }
    writeAnswer(flags, answer, describeCredentials(dataDirectory, address))
  }
)

localCommand(
  'ca',
  'Print the certificate authority that the service made (tls_self_made), and how to trust it.'
).action(async (flags: Flags) => {
  const { describeAuthority, requireAuthority } = await import('./credentials.ts')
  const authority = requireAuthority(localServiceOf(flags).dataDirectory)
  // Only the certificate goes to standard output: `scrapdeck ca > ca.pem`.
  if (flags.json !== true) terminal.error(describeAuthority(authority))
  writeAnswer(flags, authority, authority.certificate)
})

const interruption = new AbortController()
const terminal: Terminal = {
  out: (text) => process.stdout.write(text),
  error: (text) => process.stderr.write(withoutControls(text)),
  isTerminal: process.stdout.isTTY ?? false,
  environment: process.env,
  directory: process.cwd(),
  homeDirectory: homedir(),
  // Listens for interrupts only once a command reads this property.
  get interrupted() {
    if (process.listenerCount('SIGINT') === 0) process.on('SIGINT', () => interruption.abort())
    return interruption.signal
  },
  nowMs: () => Date.now(),
  sleep: (ms) => sleep(ms, undefined, { signal: interruption.signal }),
  ask: askUser,
  openBrowser: findBrowser(process.env),
  localService: localServiceOf
}
// A reader that closes the pipe early (`| head`) is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
// Ignore a closed standard error. The exit code still reports the failure.
process.stderr.on('error', () => {})
// A failed start can leave handles open, so exit without waiting for them.
run().catch((error: unknown) => process.exit(report(error)))

/** Loads only what the command needs. Without the client code, the service starts in half the time. */
async function run(): Promise<void> {
  const name = process.argv[2]
  if (!program.commands.some((command) => command.name() === name)) {
    const { addClientCommands } = await import('./client-commands.ts')
    await addClientCommands(program, terminal, name)
  }
  // Keep the process alive, because our timers do not. Otherwise, a command that waits before a retry would end as if
  // it had succeeded.
  const holding = setInterval(() => {}, 2 ** 30)
  try {
    await program.parseAsync()
  } finally {
    clearInterval(holding)
  }
}

function report(error: unknown): number {
  // commander has already printed the error or its help.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_CODES.usage
  if (interruption.signal.aborted) return EXIT_CODES.interrupted
  process.stderr.write(textOfError(error, process.argv.includes('--json')))
  return exitCodeOf(error)
}

async function askUser(question: string): Promise<string | null> {
  if (process.stdin.isTTY !== true || process.stderr.isTTY !== true) return null
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return await lines.question(question)
  } finally {
    lines.close()
  }
}

function writeAnswer(flags: Flags, answer: object, text: string): void {
  process.stdout.write(flags.json ? `${safeJson(answer, 2)}\n` : withoutControls(text))
}

function configurationOf(flags: Flags) {
  const place = { directory: process.cwd(), homeDirectory: homedir() }
  return readConfiguration(flags.config === undefined ? listScrapydFiles(place) : [namedFile(flags.config)])
}

async function resolve(flags: Flags): Promise<ResolvedOptions> {
  const { resolveServeOptions } = await import('../config/resolve.ts')
  return resolveServeOptions(contextOf(flags, configurationOf(flags)))
}

/** Finds the service for commands that send requests to it. Ignores files in the working directory. */
function localServiceOf({ data, port, config }: LocalFlags): LocalService {
  const files = config === undefined ? listInstalledFiles({ homeDirectory: homedir() }) : [namedFile(config)]
  return resolveLocalService(contextOf({ data, port }, readConfiguration(files, { skipUnreadable: true })))
}

function namedFile(path: string): ConfigurationFile {
  return { path, origin: 'named' }
}

function contextOf(flags: ServeFlags, configuration: Configuration): OptionContext {
  return {
    flags,
    configuration,
    environment: process.env,
    defaultDataDirectory: ownDataDirectory,
    workingDirectory: process.cwd(),
    cpuCount: availableParallelism()
  }
}
