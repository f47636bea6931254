import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ERROR_CODES } from './errors.ts'

it('docs/errors.md explains every code with its status, and no other', () => {
  const page = readFileSync(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  const documented = [...page.matchAll(/^\| `([A-Z_]+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [
    code,
    Number(status)
  ])
  const defined = Object.entries(ERROR_CODES).map(([code, { status }]) => [code, status])
  expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(defined))
  expect(documented).toHaveLength(defined.length)
})
