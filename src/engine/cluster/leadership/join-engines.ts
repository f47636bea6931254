import type { EngineInfo, EngineList } from '../../../shared/contract/index.ts'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'
import {
  type BlobsOptions,
  isOwnPlace,
  isSamePlace,
  nameOfPlace,
  placeOfBlobs
} from '../../storage/blobs/blobs-place.ts'
import type { Clock } from '../../runtime/clock.ts'
import { readOrCreateCredentials, type StoredCredentials } from '../../runtime/credentials-file.ts'
import { type FileSecretBox, openSecretKey } from '../../runtime/file-secret-box.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { PostgresAddress } from '../../runtime/postgres-address.ts'
import { type EncryptionOptions, openEncryptionKeys } from '../../runtime/encryption-keys.ts'
import { openDataDirectory } from '../../runtime/private-directory.ts'
import type { Random } from '../../runtime/random.ts'
import { asSealedText } from '../../runtime/secret-box.ts'
import type { EngineSelf, LeaseTable } from '../../storage/lease-table.ts'
import { explainClientError } from '../../storage/postgres/postgres-error.ts'
import { openLeaseTable } from '../../storage/postgres/lease-table.ts'
import { prepareDatabase } from '../../storage/postgres/postgres-driver.ts'
import { Election } from './election.ts'
import type { EngineCertificate, Leadership } from './leadership.ts'
import { isBefore, listApart, describeEngines } from './describe-engines.ts'

export interface Mandate {
  postgres: PostgresAddress
  leadership: Leadership
  secretBox: FileSecretBox
  credentials: StoredCredentials
}

export interface JoinOptions {
  postgres: PostgresAddress
  dataDirectory: string
  /** Default: a key in the data directory. */
  secretKeyFile?: string | null
  encryption?: EncryptionOptions | null
  scrapdeckVersion: string
  name: string
  /** Whether this engine runs spiders itself, for the leader (openHostedNode). */
  hasLocalNode: boolean
  /** This engine's address for other engines. `seenAs`: this machine's address as the database sees it. */
  addressOf: (seenAs: string | null) => string
  certificate: EngineCertificate | null
  /** Where eggs and logs are: a directory, a bucket, or neither (in the data directory). Null if a plugin decides. */
  blobs: BlobsOptions | null
  /** The configured credentials, which are the same for all engines. Null: those of the first engine. */
  credentials: StoredCredentials | null
  clock: Clock
  random: Random
  logger: Logger
  /** Opens the engine. Rejects if this engine cannot lead. Another engine may be able to. */
  lead(mandate: Mandate): Promise<void>
  follow(why: string): Promise<void>
}

export interface Membership {
  /** Authenticates requests between engines. Only the engines know it. */
  readonly secret: string
  readonly name: string
  readonly address: string
  isLeading(): boolean
  leaderAddress(): string | null
  /** The PEM certificate of the leader. Null if it speaks plain HTTP or its version publishes no certificate. */
  leaderCertificate(): string | null
  isConnected(): boolean
  /** Resolves after the next check of the database, or after `limitMs`. */
  change(limitMs: number): Promise<void>
  /** Resolves when any engine leads. Rejects if this engine should lead but cannot. */
  start(): Promise<void>
  /** Stops the engine if it leads, and releases the lease so that another engine takes over immediately. */
  stop(): Promise<void>
}

export async function join(options: JoinOptions): Promise<Membership> {
  const { postgres, dataDirectory, clock, random, logger, name } = options
  openDataDirectory(dataDirectory)
  const secretBox = await openSecretKey(dataDirectory, options.secretKeyFile)
  const keyIds = (await openEncryptionKeys(options.encryption)).ids
  prepareDatabase(postgres, logger)
  let onLost = () => {}
  const table = openLeaseTable(postgres, { onLost: () => onLost() })
  try {
    await agreeOnKey(table, secretBox, postgres.name)
    const credentials = options.credentials ?? (await agreeOnCredentials(table, secretBox, { dataDirectory, random }))
    const self = {
      id: random.hex(16),
      name,
      address: options.addressOf(await table.clientAddress()),
      version: options.scrapdeckVersion,
      hasLocalNode: options.hasLocalNode,
      get certificate() {
        return options.certificate?.own ?? ''
      },
      blobs: options.blobs === null ? '' : await placeOfBlobs(options.blobs, dataDirectory, { random, logger, keyIds })
    }
    await agreeOnBlobs(table, self, { database: postgres.name, clock, logger })
    const secret = secretBox.deriveSecret('requests between engines')
    const election: Election = new Election({
      self,
      clock,
      logger,
      follow: options.follow,
      openTable(given) {
        onLost = given.onLost
        return table
      },
      lead: (lease) =>
        options.lead({
          postgres: { ...postgres, lease },
          secretBox,
          credentials,
          leadership: leadershipOf({ self, secret, certificate: options.certificate }, election, table)
        })
    })
    return {
      secret,
      name,
      address: self.address,
      isLeading: () => election.lease !== null,
      leaderAddress: () => election.leaderAddress(),
      leaderCertificate: () => election.leaderCertificate(),
      isConnected: () => election.isConnected,
      change: (limitMs) => election.change(limitMs),
      start: () => election.start(),
      stop: () => election.stop()
    }
  } catch (error) {
    await table.close().catch(() => {})
    throw explainClientError(error, postgres.name)
  }
}

async function agreeOnKey(table: LeaseTable, secretBox: FileSecretBox, database: string): Promise<void> {
  const fingerprint = secretBox.deriveSecret('fingerprint')
  if ((await table.common('key', fingerprint)) === fingerprint) return
  throw new ScrapdeckError('ENGINES_DIFFER', sentence('storage.secret_key_differs', { database }))
}

/**
 * Checks that all engines store eggs and logs in one location, because the next leader must find what each engine
 * stores. Each engine publishes its location before it checks the others, so if two start at the same time, the later
 * one sees the other. The location can change while no engine runs.
 */
async function agreeOnBlobs(
  table: LeaseTable,
  self: EngineSelf,
  { database, clock, logger }: { database: string; clock: Clock; logger: Logger }
): Promise<void> {
  for (let lastSilentMs: number | null = null; ; ) {
    await table.beat(self)
    const rows = await table.list()
    const first = listApart(rows, self).find((row) => isBefore(row, rows.find(({ id }) => id === self.id)!))
    if (first === undefined) return
    const where = `${first.name} keeps eggs and logs in ${nameOfPlace(first.blobs)}, this engine in ${nameOfPlace(self.blobs)}`
    const isOtherPlace = !isSamePlace(first.blobs, self.blobs)
    if (isOtherPlace && isOwnPlace(first.blobs) && isOwnPlace(self.blobs)) {
      logger.warn({}, `${where}: what one of them stored is missing while the other leads (docs/scaling.md)`)
      return
    }
    // A killed engine sends no more heartbeats and counts as silent after several seconds.
    if (lastSilentMs !== null && first.silentMs < lastSilentMs) {
      await table.leave(self.id)
      if (!isOtherPlace) throw otherKeys(first.name, database)
      throw new ScrapdeckError('ENGINES_DIFFER', sentence('storage.blobs_differ', { database, where }))
    }
    lastSilentMs = first.silentMs
    await new Promise<void>((resolve) => void clock.setTimer(LISTEN_MS, resolve))
  }
}

const otherKeys = (name: string, database: string) =>
  new ScrapdeckError('ENGINES_DIFFER', sentence('storage.keys_differ', { name, database }))

/** All engines share the credentials, so a client's password keeps working under another leader. */
async function agreeOnCredentials(
  table: LeaseTable,
  secretBox: FileSecretBox,
  { dataDirectory, random }: { dataDirectory: string; random: Random }
): Promise<StoredCredentials> {
  const own = readOrCreateCredentials(dataDirectory, random)
  const sealed = await table.common('credentials', await secretBox.seal(JSON.stringify(own)))
  return JSON.parse(await secretBox.open(asSealedText(sealed))) as StoredCredentials
}

const LISTEN_MS = 1_500
const TERMS_SHOWN = 20

function leadershipOf(
  { self, secret, certificate }: { self: EngineSelf; secret: string; certificate: EngineCertificate | null },
  election: Election,
  table: LeaseTable
): Leadership {
  const list = async (): Promise<EngineList> => {
    const [engines, terms] = [await table.list(), await table.terms(TERMS_SHOWN)]
    return { shared: true, engines: describeEngines(engines, election.lease?.holder ?? null), terms: [...terms] }
  }
  const isAble = ({ state, drained }: EngineInfo) => state !== 'silent' && !drained
  const requireAnotherLeader = async (id: string) => {
    if ((await list()).engines.some((engine) => engine.id !== id && isAble(engine))) return
    const text = sentence('storage.no_other_engine_to_lead')
    throw new ScrapdeckError('BAD_INPUT', text)
  }
  const missing = (id: string) => new ScrapdeckError('NOT_FOUND', sentence('storage.no_engine', { id }))
  return {
    name: self.name,
    secret,
    mayAct: () => election.mayAct(),
    list,
    certificate,
    certificates: async () =>
      new Map((await table.list()).flatMap(({ id, certificate: of }) => (of === '' ? [] : [[id, of] as const]))),
    listApart: async () =>
      listApart(await table.list(), self).map(({ name, blobs }) => ({ engine: name, place: nameOfPlace(blobs) })),
    async handOver(to) {
      const { engines } = await list()
      const able = engines.filter(({ state, drained }) => state === 'following' && !drained)
      if (to !== null && !engines.some(({ id }) => id === to)) throw missing(to)
      if (able.length === 0 || (to !== null && !able.some(({ id }) => id === to))) {
        const text = sentence('storage.no_follower_to_lead')
        throw new ScrapdeckError('BAD_INPUT', text)
      }
      election.handOver(to ?? able[0]!.id)
    },
    stepDown: () => election.handOver(null),
    async setDrained(id, isDrained) {
      // Only a leader can undo a drain.
      if (isDrained) await requireAnotherLeader(id)
      if (!(await table.setDrained(id, isDrained))) throw missing(id)
    }
  }
}
