/**
 * `npm run test:compose` checks both compose files against their schema, then starts their services as plain
 * processes (pods.ts) with real servers and runs the demo. `-- single` or `-- full` runs one of them. Needs root
 * and Debian.
 */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parse } from 'yaml'
import { OPTIONS } from '../../src/config/option-table.ts'
import { ensureBuilt } from '../setup/build.mjs'
import { ensureComposeSchema, ensureDebianPrograms } from '../setup/container-tools.mjs'
import { inRoot, rootDirectory } from '../setup/platform.mjs'
import { ensurePostgres } from '../setup/postgres.mjs'
import { ensurePythonEnvironment, ensureTestPythonEnvironment } from '../setup/python-environment.mjs'
import { ensureS3Server } from '../setup/s3-server.mjs'
import { showFailure } from '../setup/steps.mjs'
import { stopOnSignals } from '../setup/stop-on-signals.mjs'
import { type Compose, type ComposeService, readCompose } from './compose-file.ts'
import { readContainerfile } from './containerfile.ts'
import { type ImageStandIn, openPods, type Pods } from './pods.ts'

const HOST = 'deck.example.org'
const PROGRAMS = {
  'redis-server': 'redis-server',
  nginx: 'nginx-light',
  tini: 'tini',
  wget: 'wget',
  ip: 'iproute2'
}

/** What PostgreSQL's image does before its command. */
const POSTGRES_ENTRYPOINT = `set -e
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" $POSTGRES_INITDB_ARGS > /dev/null
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -k /tmp" -w start > /dev/null
  createdb -h /tmp -U "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -D "$PGDATA" -m fast -w stop > /dev/null
fi
exec "$@" -c listen_addresses='*'`

const asked = process.argv[2]
let pods: Pods | null = null
const endWith = stopOnSignals(async () => pods?.close())
try {
  await main()
  await endWith(0)
} catch (error) {
  showFailure(error)
  await endWith(1)
}

async function main(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('The namespaces of this test need root. Run it with sudo.')
  await ensureDebianPrograms(PROGRAMS)
  const schema = await ensureComposeSchema()
  const [scrapyd, , postgres] = [
    await ensureTestPythonEnvironment(),
    await ensurePythonEnvironment(),
    await ensurePostgres()
  ]
  const s3 = await ensureS3Server(scrapyd)
  await ensureBuilt()
  if (postgres.programs === null) throw new Error(`There is no PostgreSQL: ${postgres.problem}`)
  if (s3.program === null) throw new Error(`There is no S3 server: ${s3.problem}`)
  for (const name of ['compose.yaml', 'compose.single.yaml']) checkSchema(name, schema)
  const stopped = [
    ...(asked === 'full' ? [] : [() => runFile('compose.single.yaml', null, 1)]),
    ...(asked === 'single' ? [] : [() => runFile('compose.yaml', `https://${HOST}:8443`, 3)])
  ]
  const tools = { s3: which(s3.program), postgres: postgres.programs, scrapyd: path.dirname(path.dirname(scrapyd)) }
  for (const run of stopped) await run()

  async function runFile(name: string, address: string | null, nodes: number): Promise<void> {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'scrapdeck-compose-'))
    fs.chmodSync(directory, 0o755)
    try {
      await runServices(name, directory, address, nodes, tools)
    } finally {
      await pods?.close()
      pods = null
      fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 })
    }
  }
}

function checkSchema(name: string, schemaFile: string): void {
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false })
  const { $schema: _, ...schema } = JSON.parse(fs.readFileSync(schemaFile, 'utf8')) as Record<string, unknown>
  const validate = ajv.compile(schema)
  if (!validate(parse(fs.readFileSync(inRoot(name), 'utf8'), { merge: true }))) {
    throw new Error(`${name} does not follow the schema: ${ajv.errorsText(validate.errors)}`)
  }
  console.log(`✓ ${name} follows the schema of compose files`)
}

interface Tools {
  s3: string
  postgres: string
  scrapyd: string
}

async function runServices(
  name: string,
  directory: string,
  address: string | null,
  nodes: number,
  tools: Tools
): Promise<void> {
  console.log(`${name}, as plain processes:`)
  const secrets = path.join(directory, 'secrets')
  run('sh', [inRoot('deploy', 'compose', 'make-secrets.sh'), HOST, secrets])
  const compose = readCompose(inRoot(name), { SCRAPDECK_HOST: HOST }, secrets)
  for (const service of compose.services) requireKnownOptions(service)
  const images = imagesOf(directory, tools)
  pods = openPods(compose, { directory, checkout: rootDirectory, images })
  for (const service of compose.services) {
    const beganAtMs = performance.now()
    await pods.start(service)
    console.log(`✓ ${service.name} is healthy after ${((performance.now() - beganAtMs) / 1000).toFixed(1)} s`)
  }
  await drive(compose, secrets, address, nodes)
  await stopInOrder(compose)
}

/** Runs the demo. `named` is the address of nginx. null: connects to the engine directly. */
async function drive(compose: Compose, secrets: string, named: string | null, nodes: number): Promise<void> {
  const password = fs.readFileSync(path.join(secrets, 'scrapdeck_password'), 'utf8').trim()
  const door = named === null ? 'scrapdeck-1' : 'nginx'
  const found = pods!.addressOf(compose.services.find((one) => one.name === door)!)
  const address = named ?? `http://${found}:6800`
  // Resolves the name of the certificate without changing this machine's hosts file.
  const names = path.join(path.dirname(secrets), 'hosts')
  fs.writeFileSync(names, `127.0.0.1 localhost\n${found} ${HOST}\n`)
  const code = await pods!.runOutside(
    [
      ...['unshare', '--mount', 'sh', '-c', `mount --bind '${names}' /etc/hosts && exec "$@"`, 'sh'],
      ...[process.execPath, inRoot('scripts', 'containers', 'drive.ts'), address, String(nodes)]
    ],
    { SCRAPDECK_PASSWORD: password, NODE_EXTRA_CA_CERTS: path.join(secrets, 'tls_certificate') }
  )
  if (code !== 0) throw new Error(`The demo failed. ${outputs(compose)}`)
}

async function stopInOrder(compose: Compose): Promise<void> {
  for (const service of compose.services.toReversed()) {
    const code = await pods!.stop(service)
    if (code !== 0) throw new Error(`${service.name} ended with ${code}. ${outputs(compose)}`)
  }
  console.log('✓ Each service ended with code 0 on its stop signal')
}

function outputs(compose: Compose): string {
  return compose.services.map(({ name }) => `\n--- ${name}\n${pods!.output(name).slice(-2000)}`).join('')
}

/** Throws for an unknown variable. Scrapdeck ignores unknown variables, so a misspelled name would go unnoticed. */
function requireKnownOptions({ name, environment }: ComposeService): void {
  const known = OPTIONS.flatMap(({ variables }) => variables)
  const unknown = Object.keys(environment).filter((one) => /^SCRAPDECK_/.test(one) && !known.includes(one))
  if (unknown.length > 0) throw new Error(`${name}: there is no option ${unknown.join(', ')}`)
}

function imagesOf(directory: string, { s3, postgres, scrapyd }: Tools): (service: ComposeService) => ImageStandIn {
  const programs = path.join(directory, 'bin')
  fs.mkdirSync(programs)
  for (const [name, target] of [
    ['valkey-server', which('redis-server')],
    ['valkey-cli', which('redis-cli')],
    ['healthy', inRoot('deploy', 'image', 'healthy.py')],
    ...fs.readdirSync(postgres).map((one) => [one, path.join(postgres, one)])
  ] as [string, string][]) {
    fs.symlinkSync(target, path.join(programs, name))
  }
  const standIn = { from: programs, to: '/opt/stand-in/bin' }
  const plain = { entrypoint: [], environment: {}, user: '0:0', workingDirectory: '/', content: [standIn] }
  const ours = (target: string) => readContainerfile(inRoot('Containerfile'), target)
  const opt = (...names: string[]) => names.map((one) => ({ from: inRoot(one), to: `/opt/scrapdeck/${one}` }))
  const images: [RegExp, ImageStandIn][] = [
    [
      /scrapdeck-scrapyd/,
      {
        ...ours('scrapyd'),
        content: [
          standIn,
          { from: scrapyd, to: '/opt/scrapyd' },
          { from: inRoot('deploy', 'image', 'scrapyd.conf'), to: '/etc/scrapyd/scrapyd.conf' }
        ]
      }
    ],
    [
      /scrapdeck/,
      {
        ...ours('scrapdeck'),
        content: [
          standIn,
          ...opt('bin', 'docs', 'resources', 'out', 'package.json', 'node_modules', '.venv'),
          { from: inRoot('deploy', 'image', 'run.mjs'), to: '/opt/scrapdeck/run.mjs' }
        ]
      }
    ],
    [/\/postgres:/, { ...plain, entrypoint: ['/bin/sh', '-c', POSTGRES_ENTRYPOINT, 'postgres'] }],
    [/\/valkey:/, plain],
    [/\/versitygw:/, { ...plain, content: [standIn, { from: s3, to: '/app/versitygw' }] }],
    [/\/nginx:/, plain]
  ]
  return ({ image }) => {
    const found = images.find(([pattern]) => pattern.test(image))
    if (found === undefined) throw new Error(`Nothing here stands in for the image ${image}`)
    return found[1]
  }
}

function which(name: string): string {
  return run('which', [name]).trim()
}

function run(command: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr}`)
  return stdout
}
