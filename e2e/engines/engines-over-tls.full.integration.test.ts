import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type PostgresServer,
  startPostgres,
  whyNoPostgres
} from '../../src/engine/storage/postgres/testing/start-postgres.ts'
import { until } from '../../src/engine/testing/until.ts'
import { basicAuthorization } from '../support/basic-authorization.ts'
import { type Service, startService, TEST_CREDENTIALS } from '../support/service.ts'

let database: PostgresServer
const directories: string[] = []
const engines: Service[] = []

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'scrapdeck-engines-'))
  directories.push(directory)
  return directory
}

/** Creates a certificate without the names of the engines. Other engines must trust the certificate itself. */
function makeCertificateFiles() {
  const directory = makeDirectory()
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const subject = ['-subj', '/CN=deck.example.org', '-addext', 'subjectAltName=DNS:deck.example.org']
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, '-keyout', key, '-out', certificate], {
    stdio: 'ignore'
  })
  return { key, certificate }
}

async function startEngine(name: string, tls: string[]): Promise<Service> {
  const directory = makeDirectory()
  const first = engines[0]
  if (first !== undefined) cpSync(join(first.dataDirectory, 'secret.key'), join(directory, 'secret.key'))
  const service = await startService({
    dataDirectory: directory,
    // With local slots, startService would wait for the local node over a connection that does not trust the
    // certificate.
    localSlots: 0,
    arguments: ['--local-slots=1', `--store=${database.url}`, ...tls],
    environment: { SCRAPDECK_ENGINE_NAME: name }
  })
  engines.push(service)
  return service
}

/** Trusts any certificate. Other tests check which certificates clients trust. */
async function ask(service: Service, path: string): Promise<{ status: number; body: string }> {
  const headers = { authorization: basicAuthorization(TEST_CREDENTIALS) }
  const url = new URL(path, service.address)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { headers, rejectUnauthorized: false, agent: false }, resolve).on('error', reject).end()
  })
  return { status: response.statusCode!, body: await text(response) }
}

function fingerprintOf(service: Service): Promise<string> {
  const { hostname: host, port } = new URL(service.address)
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

const leaderSeenBy = async (service: Service): Promise<string | undefined> => {
  const { body } = await ask(service, '/api/v1/engines')
  return (JSON.parse(body) as { engines: { name: string; state: string }[] }).engines?.find(
    ({ state }) => state === 'leading'
  )?.name
}

beforeAll(async () => {
  if (whyNoPostgres() !== null) return
  database = await startPostgres()
})
afterAll(async () => {
  await Promise.all(engines.map((engine) => engine.kill()))
  await database?.stop()
  for (const directory of directories) rmSync(directory, { recursive: true, force: true })
})

describe.skipIf(whyNoPostgres() !== null)('engines that speak TLS', () => {
  let given: { key: string; certificate: string }

  test('forward requests to each other, and verify each other by the certificates in the database, self-made or configured', async () => {
    given = makeCertificateFiles()
    const north = await startEngine('north', ['--tls-self-made'])
    const south = await startEngine('south', [`--tls-certificate=${given.certificate}`, `--tls-key=${given.key}`])
    expect([north.address, south.address].map((address) => address.split(':')[0])).toEqual(['https', 'https'])
    expect(await leaderSeenBy(south)).toBe('north')
    expect((await ask(south, '/daemonstatus.json')).status).toBe(200)
    const nodes = async () => {
      const { body } = await ask(south, '/api/v1/nodes')
      return (JSON.parse(body) as { nodes: { name: string; health: string }[] }).nodes.map(
        ({ name, health }) => `${name} ${health}`
      )
    }
    await until('both nodes', nodes, (found) => found.sort().join() === 'north up,south up', 30_000)
    await north.kill()
    const seen = () => leaderSeenBy(south).catch(() => null)
    await until('another leader', seen, (name) => name === 'south', 15_000)
    await north.start()
    expect(await leaderSeenBy(north)).toBe('south')
  }, 120_000)

  test('stay connected when a certificate is renewed', async () => {
    const [north, south] = engines as [Service, Service]
    const next = makeCertificateFiles()
    cpSync(next.key, given.key)
    cpSync(next.certificate, given.certificate)
    const { fingerprint256 } = new X509Certificate(readFileSync(next.certificate))
    const shown = () => fingerprintOf(south)
    await until('the new certificate', shown, (found) => found === fingerprint256, 30_000)
    const statusOf = async () => (await ask(north, '/daemonstatus.json')).status
    await until('the follower to know it', statusOf, (status) => status === 200, 10_000)
    expect(await leaderSeenBy(north)).toBe('south')
  }, 90_000)
})
