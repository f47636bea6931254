import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LoggedError } from '../error-record.ts'
import type { LogFigures } from '../figures.ts'
import { createLogParser, type LogParser } from '../log-parser.ts'

const SAMPLES = join(import.meta.dirname, '..', 'samples')
export const sample = (name: string) => readFileSync(join(SAMPLES, `${name}.log`))
export const SAMPLE_NAMES = readdirSync(SAMPLES)
  .filter((file) => file.endsWith('.log'))
  .map((file) => file.slice(0, -'.log'.length))
export const bytesOf = (text: string) => new TextEncoder().encode(text)
export const at = (time: string, level: string, message: string, logger = 'shop') =>
  `2026-11-02 ${time} [${logger}] ${level}: ${message}\n`

function resultOf(parser: LogParser): { figures: LogFigures; errors: LoggedError[] } {
  parser.end()
  return { figures: parser.figures(), errors: parser.takeErrors() }
}

export function parse(text: string | Uint8Array) {
  const parser = createLogParser()
  parser.push(typeof text === 'string' ? bytesOf(text) : text)
  return resultOf(parser)
}
