import fs from 'node:fs'
import path from 'node:path'
import { renderToStaticMarkup } from 'react-dom/server'
import { createElement } from 'react'
import { expect, test, vi } from 'vitest'
import { rich } from './rich.ts'

const ROOT = path.join(import.meta.dirname, '../../../..')
const AREAS = fs.readdirSync(import.meta.dirname).filter((file) => !/^(?:area|rich)\./.test(file))

test('an area has the texts of the chosen language, and English ones for the rest', async () => {
  vi.resetModules()
  const { area, setLanguage } = await import('./area.ts')
  setLanguage({ jobs: { cancel: 'Abbrechen' }, nodes: { cancel: 'Nein' } })
  const texts = area('jobs', { cancel: 'Cancel', selected: (count: number) => `${count} selected` })
  expect([texts.cancel, texts.selected(3)]).toEqual(['Abbrechen', '3 selected'])
  expect(() => setLanguage({}), 'too late').toThrow('before a module with texts is loaded')
})

test('a sentence with elements keeps their order', () => {
  const sent = (node: string) => rich`Sent to ${createElement('b', null, node)}.`
  expect(renderToStaticMarkup(sent('eu-1'))).toBe('Sent to <b>eu-1</b>.')
})

test.each(AREAS)('the UI shows each text of %s', (file) => {
  const keys = [...read(`src/shared/texts/ui/${file}`).matchAll(/^ {2}(\w+):/gm)].map(([, key]) => key!)
  const shown = new Set<string>()
  for (const source of sources) {
    const name = new RegExp(`import \\{ texts(?: as (\\w+))? \\} from '[./]*/shared/texts/ui/${file}'`).exec(source)
    if (name === null) continue
    for (const [, key] of source.matchAll(new RegExp(`\\b${name[1] ?? 'texts'}\\.(\\w+)`, 'g'))) shown.add(key!)
  }
  expect(keys.filter((key) => !shown.has(key))).toEqual([])
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
