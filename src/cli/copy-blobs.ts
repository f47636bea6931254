import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type CopyCounts, copyBlobs } from '../engine/api/import/copy-blobs.ts'
import { isFileUrl, parseBlobsDirectory } from '../engine/runtime/blobs-directory.ts'
import { isS3Address, parseS3Address } from '../engine/runtime/s3-address.ts'
import { findRunningService } from '../server/service-file.ts'
import type { ServeOptions } from '../config/serve-options.ts'
import { ScrapdeckError } from '../shared/errors.ts'
import { sentence } from '../shared/texts/errors/cli.ts'
import { formatBytes } from '../shared/format-bytes.ts'

const PROGRESS_EVERY_MS = 2_000

/** Runs `scrapdeck copy-blobs`. `print` receives lines for people. `options` describe the service on this machine. */
export async function runCopyBlobs(
  { from, to, evenIfRunning }: { from: string; to: string; evenIfRunning: boolean },
  options: Pick<ServeOptions, 'dataDirectory' | 's3' | 'blobsDirectory'>,
  print: (line: string) => void
): Promise<CopyCounts> {
  const places = [from, to].map((place) => placeOf(place, options.blobsDirectory))
  if (!evenIfRunning) await refuseRunning(places, options)
  let printedAtMs = performance.now()
  const counts = await copyBlobs({
    from: places[0]!,
    to: places[1]!,
    credentialsFile: options.s3?.credentialsFile ?? null,
    environment: process.env,
    onProgress(now) {
      if (performance.now() - printedAtMs < PROGRESS_EVERY_MS) return
      printedAtMs = performance.now()
      print(`${now.copied + now.same} of ${now.total} blobs, ${formatBytes(now.copiedBytes)} copied`)
    }
  })
  const { copied, same, copiedBytes } = counts
  print(`Copied and verified ${copied} blobs (${formatBytes(copiedBytes)}); ${same} were there already.`)
  return counts
}

/** A plain path means a data directory, unless it is this service's blob directory. */
function placeOf(text: string, blobsDirectory: string | null): string {
  if (isS3Address(text) || isFileUrl(text)) return text
  const path = resolve(text)
  return path === blobsDirectory ? pathToFileURL(path).href : path
}

/**
 * Throws if the service on this machine is running and uses one of the two places. Does not check data directories,
 * because engines lock them.
 */
async function refuseRunning(
  places: string[],
  { dataDirectory, s3, blobsDirectory }: Pick<ServeOptions, 'dataDirectory' | 's3' | 'blobsDirectory'>
) {
  const used = s3?.address.name ?? blobsDirectory
  const nameOf = (place: string) => (isS3Address(place) ? parseS3Address(place).name : parseBlobsDirectory(place))
  if (used === null || !places.some((place) => nameOf(place) === used)) return
  if ((await findRunningService(dataDirectory)) === null) return
  throw new ScrapdeckError('DATA_DIRECTORY_IN_USE', sentence('cli.blobs_in_use', { dataDirectory, used }))
}
