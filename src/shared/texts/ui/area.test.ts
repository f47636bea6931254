import fs from 'node:fs'
import path from 'node:path'
import { renderToStaticMarkup } from 'react-dom/server'
import { createElement } from 'react'
import { expect, test, vi } from 'vitest'
import { en } from '../en.ts'
import { errorTexts } from '../error-texts.ts'
import { rich } from './rich.ts'

const ROOT = path.join(import.meta.dirname, '../../../..')
const FOLDER = 'src/shared/texts/ui'
const AREAS = fs.readdirSync(import.meta.dirname).filter((file) => !/^(?:area|rich)\./.test(file))

test('an area has the texts of the chosen language, and English ones for the rest', async () => {
  vi.resetModules()
  const { area, setLanguage } = await import('./area.ts')
  const areas = { common: { undo: 'Rückgängig', tags: 'Tags' }, jobs: { cancel: 'Abbrechen', tags: 'Schlagwörter' } }
  const german = { locale: 'de', areas, messages: { ...en, ...errorTexts } }
  setLanguage(german)
  const texts = area('jobs', { hold: 'Hold', selected: (count: number) => `${count} selected` })
  expect([texts.cancel, texts.undo, texts.tags]).toEqual(['Abbrechen', 'Rückgängig', 'Schlagwörter'])
  expect([texts.hold, texts.selected(3), texts.close]).toEqual(['Hold', '3 selected', 'Close'])
  expect(() => setLanguage(german), 'too late').toThrow('before a module with texts is loaded')
})

test('a sentence with elements keeps their order', () => {
  const sent = (node: string) => rich`Sent to ${createElement('b', null, node)}.`
  expect(renderToStaticMarkup(sent('eu-1'))).toBe('Sent to <b>eu-1</b>.')
})

test.each(AREAS)('the UI shows each text of %s', (file) => {
  const keys = [...read(`${FOLDER}/${file}`).matchAll(/^ {2}(\w+):/gm)].map(([, key]) => key!)
  const shown = new Set<string>()
  const from = file === 'common.ts' ? String.raw`\w+\.ts` : file
  const imports = new RegExp(String.raw`import \{ texts(?: as (\w+))? \} from '[./]*/shared/texts/ui/${from}'`, 'g')
  for (const source of sources)
    for (const [, name = 'texts'] of source.matchAll(imports))
      for (const [, key] of source.matchAll(new RegExp(String.raw`\b${name}\.(\w+)`, 'g'))) shown.add(key!)
  expect(keys.filter((key) => !shown.has(key))).toEqual([])
})

test('no area repeats a common text', () => {
  const areas = AREAS.filter((file) => file !== 'common.ts').flatMap((file) => read(`${FOLDER}/${file}`).split('\n'))
  const texts = new Set(areas.map((line) => line.replace(/,$/, '')))
  const common = read(`${FOLDER}/common.ts`)
    .split('\n')
    .filter((line) => /^ {2}\w+:/.test(line))
  expect(common.filter((line) => texts.has(line.replace(/,$/, '')))).toEqual([])
})

const sources = ['src/renderer', 'src/main'].flatMap((folder) =>
  fs
    .readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file))
    .map((file) => read(`${folder}/${file}`))
)

function read(file: string): string {
  return fs.readFileSync(path.join(ROOT, file), 'utf8')
}
