import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { MUTANTS } from './mutants.ts'

it.each(MUTANTS.flatMap(({ name, mutations }) => mutations.map((mutation) => ({ name, ...mutation }))))(
  'the bug "$name" can still be planted in $file',
  ({ file, from }) => {
    const source = readFileSync(new URL(`../../src/engine/${file}`, import.meta.url), 'utf8')
    expect(source.split(from)).toHaveLength(2)
  }
)
