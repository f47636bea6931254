import { mkdirSync } from 'node:fs'
import { format } from 'node:util'
import pino, { type Level, type Logger } from 'pino'
import { createStream } from 'rotating-file-stream'

const SIZE = '5M'
const FILES_MAX = 5

export interface LogFiles {
  /** Writes to the files and to standard error. */
  logger(level: string): Logger
  /** Resolves when everything is in the file. */
  close(): Promise<void>
}

/**
 * Keeps what the app logs, because a packaged app has no terminal: also what the main process writes to the console.
 * The newest file is scrapdeck.log; earlier ones, five at most, have the time of their end in their names.
 */
export function openLogFiles(directory: string): LogFiles {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const file = createStream(nameOfFile, { path: directory, size: SIZE, maxFiles: FILES_MAX, mode: 0o600 })
  // A full disk must not end the app. What is lost is still on standard error.
  file.on('error', () => {})
  for (const name of ['warn', 'error'] as const) {
    const write = console[name].bind(console)
    console[name] = (...values: unknown[]) => {
      write(...values)
      file.write(`${new Date().toISOString()} ${name} ${format(...values)}\n`)
    }
  }
  const serializers = { error: pino.stdSerializers.err }
  return {
    logger(level) {
      const streams = [pino.destination(2), file].map((stream) => ({ level: level as Level, stream }))
      return pino({ level, serializers }, pino.multistream(streams))
    },
    close: () => new Promise((resolve) => file.end(resolve))
  }
}

/** `time` is null for the newest file. */
function nameOfFile(time: Date | number | null, index?: number): string {
  if (time === null) return 'scrapdeck.log'
  return `scrapdeck-${new Date(time).toISOString().replaceAll(':', '-')}-${index}.log`
}
