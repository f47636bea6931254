import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { namesIn, OPTIONS } from './option-table.ts'
import { SCRAPYD_SERVICES } from './read-scrapyd-options.ts'

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')

function namesInTable(section: string): string[] {
  const text = page.split(/^## /m).find((part) => part.startsWith(`${section}\n`)) ?? ''
  const rows = text.split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`([\w.]+)`/g)].map((match) => match[1]!)).sort()
}

it.each([
  ['[scrapyd]', namesIn('scrapyd')],
  ['[services]', Object.keys(SCRAPYD_SERVICES)],
  ['[scrapdeck]', namesIn('scrapdeck')],
  ['[cache]', namesIn('cache')],
  ['[metrics]', namesIn('metrics')],
  ['Variables of other systems', namesIn('variables')]
])('docs/configuration.md has every option of %s once, and no other', (section, options) => {
  expect(namesInTable(section)).toEqual([...options].sort())
})

it('docs/configuration.md names each variable that is not simply its option in capitals, and no unknown variable', () => {
  const known = OPTIONS.flatMap(({ variables }) => variables)
  const named = [...page.matchAll(/`((?:SCRAP(?:DECK|YD)|REDIS|CRAWL|LOG)_[A-Z_]*[A-Z])`/g)].map((match) => match[1]!)
  expect(named.filter((name) => !known.includes(name))).toEqual([])
  const usual = ({ section, name }: (typeof OPTIONS)[number]) => {
    const prefix = { scrapyd: 'SCRAPYD_', scrapdeck: 'SCRAPDECK_', variables: '' }[section as string]
    return `${prefix ?? `SCRAPYD_${section}_`}${name}`.toUpperCase()
  }
  const unusual = OPTIONS.flatMap((option) => option.variables.filter((name) => name !== usual(option)))
  expect(unusual.filter((name) => !named.includes(name))).toEqual([])
})

it('the table has every option once, and no variable sets two options of one section', () => {
  const names = OPTIONS.map(({ section, name }) => `${section} ${name}`)
  expect(new Set(names).size).toBe(names.length)
  const variables = OPTIONS.flatMap((option) => option.variables.map((name) => `${option.section} ${name}`))
  expect(new Set(variables).size).toBe(variables.length)
})
