import type { SecureContextOptions } from 'node:tls'
import type { EngineList } from '../../../shared/contract/index.ts'
import { X509Certificate } from 'node:crypto'
import { ScrapdeckError } from '../../../shared/errors.ts'
import { sentence } from '../../../shared/texts/errors/storage.ts'

/** The current certificate of an engine. It can be renewed while the engine runs. */
export interface EngineCertificate {
  /** PEM of the certificate that the engine presents. Others recognize the engine by it. */
  readonly own: string
  /** The certificate with its key, for servers that request client certificates. */
  readonly context: Pick<SecureContextOptions, 'cert' | 'key'>
}

export interface Leadership {
  /** A name for people, which stays the same after a restart. */
  readonly name: string
  readonly secret: string
  mayAct(): boolean
  list(): Promise<EngineList>
  /** Null if this engine speaks plain HTTP. */
  readonly certificate: EngineCertificate | null
  certificates(): Promise<ReadonlyMap<string, string>>
  /** Returns the live engines that store eggs and logs in a different location from this engine's. */
  listApart(): Promise<{ engine: string; place: string }[]>
  /** Hands the lease to `to` or, if null, to the first engine that takes it. Rejects with BAD_INPUT or NOT_FOUND. */
  handOver(to: string | null): Promise<void>
  /** Called when this engine's memory may differ from the database, which the next leader reads completely. */
  stepDown(): void
  /** A drained engine never leads, and a drained leader hands over. Rejects with NOT_FOUND. */
  setDrained(id: string, isDrained: boolean): Promise<void>
}

/** Returns when the other engines' certificates expire. A shared certificate is listed once, for the first engine. */
export async function otherCertificates(
  leadership: Pick<Leadership, 'certificate' | 'certificates' | 'list'>
): Promise<{ engine: string; endsAtMs: number }[]> {
  const [{ engines }, shown] = await Promise.all([leadership.list(), leadership.certificates()])
  const seen = new Set([leadership.certificate?.own])
  return engines.flatMap(({ id, name }) => {
    const pem = shown.get(id)
    if (pem === undefined || seen.has(pem)) return []
    seen.add(pem)
    return [{ engine: name, endsAtMs: new X509Certificate(pem).validToDate.getTime() }]
  })
}

/** With SQLite, there is only one engine, and it leads. */
export function engineAlone(self: {
  scrapdeckVersion: string
  startedAtMs: number
  hasLocalNode: boolean
}): Leadership {
  const refuse = async () => {
    const text = sentence('storage.engine_alone')
    throw new ScrapdeckError('BAD_INPUT', text)
  }
  const engine = { id: 'alone', name: 'this engine', address: '', version: self.scrapdeckVersion }
  const { startedAtMs } = self
  return {
    name: engine.name,
    secret: '',
    certificate: null,
    certificates: async () => new Map(),
    mayAct: () => true,
    list: async () => ({
      shared: false,
      engines: [
        {
          ...engine,
          startedAtMs,
          state: 'leading' as const,
          silentMs: 0,
          drained: false,
          hasLocalNode: self.hasLocalNode
        }
      ],
      terms: []
    }),
    listApart: async () => [],
    handOver: refuse,
    // Not needed, because SQLite always reports whether it committed.
    stepDown() {},
    setDrained: refuse
  }
}
