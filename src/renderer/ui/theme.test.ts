import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const css = readFileSync(join(import.meta.dirname, 'theme.css'), 'utf8')

const SURFACES = ['bg', 'panel', 'raised', 'accent-soft']
const TEXTS = ['text', 'dim', 'faint', 'run', 'ok', 'bad', 'wait', 'lost', 'off']

for (const scheme of ['light', 'dark']) {
  const block = css.match(new RegExp(`scheme=["']${scheme}["']\\] \\{([^}]*)\\}`))?.[1] ?? ''
  const colours = new Map(
    [...block.matchAll(/--([\w-]+):\s*(#[\da-f]{6})\b/g)].map((match) => [match[1], match[2] as string])
  )
  const of = (name: string) => colours.get(name) ?? expect.fail(`theme.css has no --${name} in ${scheme}`)

  it(`every text colour is readable on every surface in ${scheme} (WCAG AA)`, () => {
    const weak = SURFACES.flatMap((surface) =>
      TEXTS.map((text) => ({ surface, text, ratio: contrast(of(text), of(surface)) }))
    ).filter(({ ratio }) => ratio < 4.5)
    expect(weak).toEqual([])
  })

  it(`buttons and boxes of problems are readable in ${scheme} (WCAG AA)`, () => {
    expect(contrast(of('accent-text'), of('accent'))).toBeGreaterThanOrEqual(4.5)
    expect(contrast(of('panel'), of('bad'))).toBeGreaterThanOrEqual(4.5)
    expect(contrast(of('text'), of('bad-soft'))).toBeGreaterThanOrEqual(4.5)
    expect(contrast(of('bad'), of('bad-soft'))).toBeGreaterThanOrEqual(4.5)
    expect(contrast(of('wait'), of('wait-soft'))).toBeGreaterThanOrEqual(4.5)
  })
}

/** As defined by WCAG 2.2. */
function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((left, right) => right - left) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  }) as [number, number, number]
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
