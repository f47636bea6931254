import { join } from 'node:path'
import type { Logger } from '../../runtime/logger.ts'
import type { Random } from '../../runtime/random.ts'
import type { S3Address } from '../../runtime/s3-address.ts'
import { takeDirectory } from './directory/shared-directory.ts'

export interface BlobsOptions {
  s3: { address: S3Address } | null
  directory: string | null
}

const KEYS = '#keys='
const OWN = 'the data directory'

/**
 * Returns a string that identifies where the blobs are: kind, address and encryption key ids, then a name for display.
 * A directory's address is its mark, because machines can mount it at different paths. Rejects with BLOBS_UNUSABLE.
 */
export async function placeOfBlobs(
  { s3, directory }: BlobsOptions,
  dataDirectory: string,
  parts: { random: Pick<Random, 'hex'>; logger: Logger; keyIds: readonly string[] }
): Promise<string> {
  const keys = parts.keyIds.length === 0 ? '' : `${KEYS}${parts.keyIds.join(',')}`
  if (s3 !== null) {
    const { bucket, prefix, endpoint } = s3.address
    return `s3:${endpoint ?? ''}/${bucket}/${prefix}${keys} ${s3.address.name}`
  }
  // Mark the data directory's `blobs` as well, because it can be a link to blobs of other engines.
  const path = directory ?? join(dataDirectory, 'blobs')
  return `directory:${await takeDirectory(path, { ...parts, knownMark: null })}${keys} ${directory ?? OWN}`
}

/** Whether both places have the same blobs. An unknown place (empty) counts as the same. Pure. */
export const isSamePlace = (one: string, other: string): boolean =>
  one === '' || other === '' || partsOf(one).what === partsOf(other).what

/** Whether each engine can decrypt what the other encrypts. Pure. */
export function canReadEachOther(one: string, other: string): boolean {
  const [ours, theirs] = [partsOf(one).keyIds, partsOf(other).keyIds]
  return one === '' || other === '' || (isIn(ours[0], theirs) && isIn(theirs[0], ours))
}

const isIn = (newest: string | undefined, keyIds: readonly string[]): boolean =>
  newest === undefined ? keyIds.length === 0 : keyIds.includes(newest)

function partsOf(place: string): { what: string; keyIds: string[] } {
  const [what = '', keys] = place.split(' ', 1)[0]!.split(KEYS)
  return { what, keyIds: keys === undefined ? [] : keys.split(',') }
}

export const nameOfPlace = (place: string): string => place.slice(place.indexOf(' ') + 1)

export const isOwnPlace = (place: string): boolean => nameOfPlace(place) === OWN

/** Parses the setting blobs.directory. Returns the mark that the directory at this path must have; null: unknown. */
export function knownMarkOf(setting: string | null, path: string): string | null {
  const [mark = '', ...rest] = (setting ?? '').split(' ')
  return rest.join(' ') === path ? mark : null
}
