import { Writable } from 'node:stream'
import pino from 'pino'
import pretty from 'pino-pretty'
import { withoutSteering } from './client/terminal.ts'

/**
 * Prints one line per entry: time, level, message, fields. Writes in this thread, because pino starts transports by
 * file name and the build has no such file. Removes control characters, because errors can quote untrusted text.
 */
export function openReadableLog(sink: { write(text: string): unknown } = pino.destination(2)) {
  const destination = new Writable({
    decodeStrings: false,
    write(text: string, _encoding, done) {
      sink.write(withoutSteering(text))
      done()
    }
  })
  return pretty({ destination, singleLine: true, ignore: 'pid,hostname', translateTime: 'SYS:HH:MM:ss' })
}
