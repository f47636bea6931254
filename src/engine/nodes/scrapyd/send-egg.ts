import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ProjectName, VersionName } from '../../../shared/contract/index.ts'
import { sanitiseVersion } from '../../../shared/ids.ts'
import type { RefusedEgg } from '../../../shared/texts/en-node-errors.ts'
import { asParam, say } from '../../../shared/texts/message.ts'
import type { EggToSend } from '../../projects/projects.ts'
import type { Logger } from '../../runtime/logger.ts'
import { type EggTarget, NodeError } from '../node-client.ts'
import { AddVersionAnswer } from './answers.ts'
import type { Connection } from './connection.ts'
import { askJson, type Limit } from './exchange.ts'
import { storedNothing } from './refusals.ts'

export interface EggUploadParts {
  connection: Connection
  client: Pick<EggTarget, 'listVersions' | 'deleteVersion'>
  name: string
  logger: Logger
  limit: Limit
}

export async function sendEgg(
  parts: EggUploadParts,
  ...[project, version, content, signal]: Parameters<EggTarget['addVersion']>
): ReturnType<EggTarget['addVersion']> {
  const wasThere = await hasVersion(parts, project, version, signal)
  const request = {
    method: 'POST',
    path: 'addversion.json',
    ...(await multipart({ project, version }, content))
  } as const
  try {
    return {
      spiders: (await askJson(parts.connection, { ...request, schema: AddVersionAnswer, ...parts.limit }, signal))
        .answer.spiders
    }
  } catch (error) {
    const isRefusal = error instanceof NodeError && error.kind === 'refused'
    if (!isRefusal || storedNothing(error.nodeMessage ?? '')) throw error
    const became = await removeRefused(parts, project, version, wasThere, signal)
    const { said, delivered, nodeSaid, refusal } = error
    throw new NodeError('refused', say('node_error.egg_refused', { refusal: asParam(said), became, version }), {
      delivered,
      nodeMessage: nodeSaid,
      refusal,
      cause: error
    })
  }
}

async function hasVersion(
  { client }: EggUploadParts,
  project: ProjectName,
  version: VersionName,
  signal?: AbortSignal
): Promise<boolean | null> {
  try {
    return (await client.listVersions(project, signal)).some((name) => name === sanitiseVersion(version))
  } catch (error) {
    if (error instanceof NodeError) return null
    throw error
  }
}

/**
 * Deletes an egg that Scrapyd refused, because Scrapyd keeps such an egg as its newest version
 * (scrapyd-protocol.md, 3.4). Never deletes a version with this name that existed before. Returns what happened.
 */
async function removeRefused(
  { client, logger, name }: EggUploadParts,
  project: ProjectName,
  version: VersionName,
  wasThere: boolean | null,
  signal?: AbortSignal
): Promise<RefusedEgg> {
  if (wasThere === true) return 'replaced'
  if (wasThere === null) return 'unknown'
  try {
    await client.deleteVersion(project, version, signal)
    return 'removed'
  } catch (error) {
    if (error instanceof NodeError && error.isUnknownThere) return 'not_kept'
    logger.warn({ node: name, project, version, error }, 'a refused egg could not be removed from the node')
    return 'not_removed'
  }
}

async function multipart(fields: { project: ProjectName; version: VersionName }, egg: EggToSend) {
  // The boundary derives from the content, so the content cannot contain it and the same request always has the
  // same bytes.
  const hash = createHash('sha256').update(fields.project).update('\0').update(fields.version).update('\0')
  const boundary = `scrapdeck-${hash.update(egg.sha256).digest('hex').slice(0, 40)}`
  const fieldParts = Object.entries(fields).map(
    ([name, value]) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  )
  const eggHead = `--${boundary}\r\nContent-Disposition: form-data; name="egg"; filename="project.egg"\r\n`
  const head = Buffer.from(`${fieldParts.join('')}${eggHead}Content-Type: application/octet-stream\r\n\r\n`)
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  const content = await egg.open()
  async function* pieces() {
    yield head
    yield* content
    yield tail
  }
  return {
    // Python's servers do not accept chunked bodies.
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + egg.sizeBytes + tail.length)
    },
    body: Readable.from(pieces(), { objectMode: false }).on('close', () => content.destroy())
  }
}
