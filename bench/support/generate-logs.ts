import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { createSpider } from './fleet-logs.ts'

/** A thread that writes log files ahead of the archiver, so that generating them is not part of the measured time. */
const { directory, spiders: count } = workerData as { directory: string; spiders: number }
const spiders = Array.from({ length: count }, (_, index) => createSpider(index + 1))

parentPort!.on('message', (orders: { number: number; spider: number; bytes: number; extra: string }[]) => {
  const written = orders.map(({ number, spider, bytes, extra }, at) => {
    // Overwrites earlier files. When ext4 creates a file, it skips each inode freed in the last minutes, which would
    // add a millisecond per archive.
    const path = join(directory, `${at}.log`)
    const log = spiders[spider]!(bytes, number + 1)
    const middle = log.indexOf(0x0a, log.length >> 1) + 1
    const whole =
      extra === '' ? log : Buffer.concat([log.subarray(0, middle), Buffer.from(extra), log.subarray(middle)])
    writeFileSync(path, whole)
    return { number, spider, path, sizeBytes: whole.length }
  })
  parentPort!.postMessage(written)
})
