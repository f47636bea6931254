import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { contract } from '../src/shared/contract/index.ts'

const root = join(import.meta.dirname, '..')
const page = readFileSync(join(root, 'docs/adding-a-noun.md'), 'utf8')
const places = [...page.matchAll(/`((?:src|docs|scripts|e2e)(?:\/[\w./-]+)?|[A-Z]+\.md)`(?: → `(\w+)`)?/g)].map(
  ([, path, symbol]) => ({ path: path as string, symbol })
)

describe('the guide to adding a noun', () => {
  it('names every step', () => {
    expect(places.length).toBeGreaterThan(25)
    expect(contract).toHaveProperty('schedules')
  })

  it('has at most 12 steps', () => {
    expect(page.match(/^\| \d+ \|/gm)?.length).toBeLessThanOrEqual(12)
  })

  it('names configurations of TypeScript that exist', () => {
    const named = [...page.matchAll(/`[^`]*-p ([\w./-]+)[^`]*`/g)].map(([, place]) => join(root, place!))
    expect(named).toHaveLength(2)
    for (const place of named)
      expect(existsSync(place.endsWith('.json') ? place : join(place, 'tsconfig.json')), place).toBe(true)
  })

  it.each(places)('$path has $symbol', ({ path, symbol }) => {
    expect(existsSync(join(root, path))).toBe(true)
    if (symbol === undefined) return
    expect(statSync(join(root, path)).isFile()).toBe(true)
    expect(readFileSync(join(root, path), 'utf8')).toMatch(new RegExp(`\\b${symbol}\\b`))
  })
})
