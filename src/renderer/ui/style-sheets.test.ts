import { globSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const renderer = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(path, 'utf8')
const sources = globSync('**/*.tsx', { cwd: renderer }).map((path) => ({ path, text: read(join(renderer, path)) }))

/** Each import of a style sheet: `classes` for `./panel.module.css`. */
const uses = sources.flatMap(({ path, text }) =>
  [...text.matchAll(/^import (\w+) from '(.+\.module\.css)'$/gm)].map(([, name = '', sheet = '']) => ({
    path,
    sheet: resolve(renderer, dirname(path), sheet),
    names: [...text.matchAll(new RegExp(`(?<![\\w.'/-])${name}\\.(\\w+)`, 'g'))].map(([, used = '']) => used)
  }))
)
const withoutOthers = (css: string) => css.replace(/\/\*.*?\*\/|:global\([^)]*\)|"[^"]*"/gs, '')
const classesOf = (sheet: string) =>
  new Set([...withoutOthers(read(sheet)).matchAll(/\.([a-zA-Z]\w*)/g)].map(([, name = '']) => name))

it('every class that a component uses is in its style sheet', () => {
  const missing = uses.flatMap(({ path, sheet, names }) => {
    const known = classesOf(sheet)
    return names.filter((name) => !known.has(name)).map((name) => `${path}: ${name}`)
  })
  expect(missing).toEqual([])
})

it('every class of a style sheet is used by a component', () => {
  const used = new Set(uses.flatMap(({ sheet, names }) => names.map((name) => `${sheet} ${name}`)))
  const unused = [...new Set(uses.map(({ sheet }) => sheet))].flatMap((sheet) =>
    [...classesOf(sheet)].map((name) => `${sheet} ${name}`).filter((each) => !used.has(each))
  )
  expect(unused).toEqual([])
})

it('every tone is written out by name', () => {
  expect(sources.filter(({ text }) => /tone-[` "]/.test(text)).map(({ path }) => path)).toEqual([])
})

it('every style sheet is used by a component', () => {
  const used = new Set(uses.map(({ sheet }) => sheet))
  const sheets = globSync('**/*.module.css', { cwd: renderer }).map((path) => join(renderer, path))
  expect(sheets.filter((sheet) => !used.has(sheet))).toEqual([])
})
