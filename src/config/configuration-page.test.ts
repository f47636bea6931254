import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { VARIABLES } from './option-reader.ts'
import { OWN_OPTIONS } from './read-own-options.ts'
import { SCRAPYD_OPTIONS, SCRAPYD_SERVICES } from './scrapyd-options.ts'

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')

/** Names in the first column of the table below a heading; rows can have several. */
function namesInTable(section: string): string[] {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? ''
  const rows = text.split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`([\w.]+)`/g)].map((match) => match[1]!)).sort()
}

it.each([
  ['[scrapyd]', Object.keys(SCRAPYD_OPTIONS)],
  ['[services]', Object.keys(SCRAPYD_SERVICES)],
  ['[scrapdeck]', OWN_OPTIONS]
])('docs/configuration.md has every option of %s once, and no other', (section, options) => {
  expect(namesInTable(section)).toEqual([...options].sort())
})

it('docs/configuration.md names every variable, and no other', () => {
  const known = [...Object.values(VARIABLES).flat(), 'SCRAPDECK_LOG_LEVEL']
  const named = [...page.matchAll(/`(SCRAP(?:DECK|YD)_[A-Z_]+)`/g)].map((match) => match[1]!)
  expect([...new Set(named)].sort()).toEqual(known.sort())
})
