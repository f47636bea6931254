import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { errorQueryOf, GrowingFormat, isErrorLine, parseRecordHead, RECORD_LEVELS } from '../../../shared/log-record.ts'
import { createLogParser } from './log-parser.ts'

const SAMPLES = join(import.meta.dirname, 'samples')
const logs = readdirSync(SAMPLES).filter((name) => name.endsWith('.log'))

test.each(logs)('other readers find the same records in %s as the parser', (name) => {
  const bytes = readFileSync(join(SAMPLES, name))
  const parser = createLogParser()
  parser.push(bytes)
  parser.end()
  const { format, records } = parser.figures()
  const text = bytes.toString('utf8')
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''))
  const shown = new GrowingFormat()
  shown.read({ text })
  expect(shown.current?.kind).toBe(format?.kind)
  const told = format ?? undefined
  const counts = Object.fromEntries(RECORD_LEVELS.map((level) => [level, 0])) as typeof records
  for (const line of lines) {
    const level = parseRecordHead(line, told)?.level
    if (level !== undefined) counts[level] += 1
  }
  expect(counts).toEqual(records)
  const query = errorQueryOf(told)
  expect(query.text.length).toBeLessThanOrEqual(500)
  const expression = new RegExp(query.text, query.matchesCase ? '' : 'i')
  const errors = lines.filter((line) => expression.test(line) && isErrorLine(line.slice(0, 500), told))
  expect(errors).toHaveLength(records.ERROR + records.CRITICAL)
})
