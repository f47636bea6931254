import { Writable } from 'node:stream'
import pino from 'pino'
import pretty from 'pino-pretty'
import { withoutSteering } from './client/terminal.ts'

/**
 * One line an entry: time, level, words, facts. In this thread: pino starts one by file name, and in the built service
 * it has no file of its own. Errors may quote what a node, a spider or a client said, which no terminal may obey.
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
