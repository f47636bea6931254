import { sentence } from '../../shared/texts/errors/storage.ts'
import { expect, test } from 'vitest'
import { MIGRATIONS as ON_POSTGRES } from './postgres/migrate.ts'
import { type Migrations, missingSteps, newestVersion, requireNewestSchema } from './schema-versions.ts'
import { MIGRATIONS as ON_SQLITE } from './sqlite/migrate.ts'

const MIGRATIONS: Migrations = { baseline: 7, steps: ['all tables', 'eight', 'nine'] }

test('a new database gets every step, an older one only the later ones, the newest none', () => {
  expect(newestVersion(MIGRATIONS)).toBe(9)
  const lacks = [0, 7, 8, 9].map((version) => missingSteps('It', version, MIGRATIONS))
  expect(lacks).toEqual([['all tables', 'eight', 'nine'], ['eight', 'nine'], ['nine'], []])
})

test.each([1, 6])('version %i, from before the baseline, is refused with the commit that migrates it', (version) => {
  const refused = () => missingSteps('The database x', version, MIGRATIONS, sentence('storage.or_other_namespace'))
  expect(refused).toThrow(
    expect.objectContaining({
      code: 'DATA_TOO_OLD',
      data: { text: expect.objectContaining({ code: 'storage.data_too_old' }) },
      message: expect.stringMatching(
        RegExp(
          `^The database x has schema version ${version}; this Scrapdeck supports versions from 7 on. ` +
            "Open it once with Scrapdeck's commit [0-9a-f]{8}, which migrates it, or choose another namespace.$"
        )
      )
    })
  )
})

test('both databases have the same steps, so a table that one of them lacks is noticed', () => {
  expect(ON_POSTGRES.steps).toHaveLength(ON_SQLITE.steps.length)
})

test('a newer version is refused', () => {
  const refused = () => missingSteps('The database x', 10, MIGRATIONS)
  expect(refused).toThrow(
    expect.objectContaining({
      code: 'DATA_FROM_NEWER_VERSION',
      message: expect.stringContaining('versions up to 9. Use the newer Scrapdeck that wrote it.')
    })
  )
})

test('only the newest version can be copied', () => {
  expect(() => requireNewestSchema('x', 9, MIGRATIONS)).not.toThrow()
  expect(() => requireNewestSchema('x', 8, MIGRATIONS)).toThrow(/schema version 8.*\(9\)\. Start this Scrapdeck/)
  expect(() => requireNewestSchema('x', 6, MIGRATIONS)).toThrow(expect.objectContaining({ code: 'DATA_TOO_OLD' }))
})
