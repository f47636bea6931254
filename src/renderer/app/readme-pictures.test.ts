import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { SCREENS } from './rail.tsx'

it('the pictures of the README show the current entries of the rail: else SCRAPDECK_DOCS_IMAGES=1 npm run screenshots', () => {
  const pictured: unknown = JSON.parse(readFileSync('docs/images/rail.json', 'utf8'))
  expect(pictured).toEqual([...SCREENS.map(({ word }) => word), 'Settings'])
})
