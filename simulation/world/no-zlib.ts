import { PassThrough } from 'node:stream'

/** What the archive of logs compresses with, in the simulation: nothing. The real one works in other threads, whose order is chance. */
export const createGzip = () => new PassThrough()
export const createGunzip = () => new PassThrough()
