import fc from 'fast-check'
import { expect, test } from 'vitest'
import { addedRequirements, demandsHashes, environmentId, normaliseRequirements } from './requirements.ts'

test('comments, blank lines, line ends and patch releases give the same environment; any other change gives another', () => {
  const id = environmentId('Scrapy==2.19.0\nlxml\n', '3.11.4')
  expect(id).toMatch(/^[0-9a-f]{12}$/)
  expect(environmentId('\uFEFF# ours\r\nScrapy==2.19.0   # pinned\r\n\r\n  lxml', '3.11.9')).toBe(id)
  expect(environmentId('lxml\nScrapy==2.19.0', '3.11.4')).not.toBe(id)
  expect(environmentId('Scrapy==2.19.0\nlxml', '3.12.4')).not.toBe(id)
  expect(environmentId('Scrapy==2.19.0\nLXML', '3.11.4')).not.toBe(id)
})

test('a hash sign within a word is no comment', () => {
  expect(normaliseRequirements('git+https://host/x#egg=x # y\n#z')).toBe('git+https://host/x#egg=x')
  fc.assert(
    fc.property(
      fc.string(),
      (text) => normaliseRequirements(normaliseRequirements(text)) === normaliseRequirements(text)
    )
  )
})

test.each([
  ['requests', ['Scrapy', 'setuptools<81']],
  ['SCRAPY >= 2.11 ; python_version > "3"\nsetuptools==70', []],
  ['scrapy[x]~=2.11', ['setuptools<81']],
  ['scrapy-playwright', ['Scrapy', 'setuptools<81']],
  ['git+https://host/scrapy@master#egg=Scrapy\n-r more.txt', ['setuptools<81']]
])('the packages of the runner are added unless they are named: %j', (text, added) => {
  expect(addedRequirements(text)).toEqual(added)
})

test('hashes are detected', () => {
  expect(demandsHashes('a==1 \\\n  --hash=sha256:00')).toBe(true)
  expect(demandsHashes('--require-hashes\na==1')).toBe(true)
  expect(demandsHashes('a==1 # --hash=no\nhash')).toBe(false)
})
