import type { Problem } from '../../shared/contract/index.ts'
import type { BlobsState } from './blob-watch.ts'
import { gigabytes, howLow } from './storage-problems.ts'
import { UNRELATED } from './unrelated.ts'

/** What is wrong with the storage of eggs, archived logs and items, wherever it is. Pure. */
export function blobProblems({ problem, sinceMs, disk, engine, apart, name }: BlobsState): Problem[] {
  const found: Problem[] = []
  const add = (id: string, severity: Problem['severity'], title: string, text: string, sinceMs: number | null = null) =>
    found.push({ ...UNRELATED, id, severity, title, text, sinceMs, mend: null })
  if (problem !== null) {
    const effects =
      'Until then, uploads fail, ended runs wait for their logs to be archived, and archived logs cannot be read'
    add('blobs', 'error', 'The storage of eggs and logs cannot be used', `${asSentence(problem)} ${effects}`, sinceMs)
  }
  const low = disk === null ? null : howLow(disk)
  if (disk !== null && low !== null) {
    const rest = `${gigabytes(disk.freeBytes)} of ${gigabytes(disk.totalBytes)} are free at ${name}`
    const text = `${rest}. Free space there, or shorten the retention`
    add('blobs:disk', low, 'The storage of eggs and logs is almost full', text)
  }
  if (apart.length > 0) {
    // Shown by all engines, so it names the one that looks as well.
    const places = [{ engine, place: name }, ...apart].map(({ engine, place }) => `${engine}: ${place}`).join('; ')
    const text = `${places}. What one of them stored is missing while another leads. Give all engines the same blobs`
    add('blobs:apart', 'error', 'Engines keep eggs and logs in different places', text)
  }
  return found
}

const asSentence = (text: string) => (text.endsWith('.') ? text : `${text}.`)
