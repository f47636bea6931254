import { expect, test } from 'vitest'
import { aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import type { StoredVersion } from '../model/records.ts'
import { Catalog } from './catalog.ts'

const SHOP = aProjectName('shop')

const seen = (version: string): StoredVersion => ({
  project: SHOP,
  version: aVersionName(version),
  sha256: null,
  sizeBytes: null,
  spiders: null,
  createdAtMs: 0,
  deployments: []
})

test('a version is found by its exact name first, and by another spelling only if that does not exist', () => {
  const catalog = new Catalog()
  for (const version of ['1.0', '1_0']) catalog.remember(seen(version))
  expect(['1.0', '1_0', '1-0', '1:0'].map((name) => catalog.find(SHOP, aVersionName(name))?.version)).toEqual([
    '1.0',
    '1_0',
    undefined,
    '1.0'
  ])
  catalog.forget(seen('1.0'))
  expect(catalog.find(SHOP, aVersionName('1.0'))?.version).toBe('1_0')
  catalog.forget(seen('1_0'))
  expect(catalog.find(SHOP, aVersionName('1.0'))).toBe(null)
  catalog.remember(seen('1.0'))
  expect(catalog.find(SHOP, aVersionName('1_0'))?.version).toBe('1.0')
})

test('looking up an unknown version does not walk through the whole list of a node', () => {
  const catalog = new Catalog()
  const begun = process.cpuUsage()
  for (let index = 0; index < 10_000; index += 1) {
    expect(catalog.find(SHOP, aVersionName(`v.${index}`))).toBe(null)
    catalog.remember(seen(`v.${index}`))
  }
  // Lookups take about 20 ms. Linear searches would take over 3 s.
  expect(process.cpuUsage(begun).user / 1000).toBeLessThan(1_000)
})
