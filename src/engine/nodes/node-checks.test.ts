import { inWords } from '../../shared/testing/in-words.ts'
import { expect, test } from 'vitest'
import { aProjectName, aVersionName } from '../../shared/testing/ids.ts'
import { LOCAL_TRAITS, SCRAPYD_TRAITS } from './node-traits.ts'
import { problemOfRun } from './node-checks.ts'

const RUN = { project: aProjectName('shop'), spider: 'prices', jobid: 'a', version: aVersionName('1'), args: {} }
const LONG = 'x'.repeat(200_000)

test.each([
  [{ spider: 'a/b' }, 'The spider "a/b" contains a slash, and it names a folder or a file of logs.'],
  [{ spider: '..' }, 'The spider ".." is a folder reference, and it names a folder or a file of logs.'],
  [{ project: aProjectName('a\\b') }, expect.stringContaining('contains a slash')],
  [{ jobid: '' }, expect.stringContaining('is empty')],
  [{ version: aVersionName('') }, '"" is not a valid version name.'],
  [{ env: { TOKEN: LONG } }, 'The variable "TOKEN" is too large to pass to a process.']
])('no node of any kind can start %j', (over, problem) => {
  for (const traits of [null, LOCAL_TRAITS, SCRAPYD_TRAITS]) {
    expect(inWords(problemOfRun({ ...RUN, ...over }, traits))).toEqual(problem)
  }
})

test.each([
  [{ args: { urls: LONG } }, /"urls" is too large/],
  [
    { settings: Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`S${at}`, 'x'.repeat(120_000)])) },
    /too large/
  ],
  [{ args: { a: 'x\0y' } }, /cannot be passed/],
  [{ args: { 'a=b': '' } }, /cannot be passed/],
  [{ args: { _job: '1' } }, /Rename the argument/]
])('only a node that passes arguments in a file can start %#', (over, words) => {
  expect(inWords(problemOfRun({ ...RUN, ...over }, SCRAPYD_TRAITS))).toMatch(words)
  expect(problemOfRun({ ...RUN, ...over }, LOCAL_TRAITS)).toBe(null)
})

test.each(['1.0', 'r5-feature/x', 'a\\b', '.', '..', 'магазин'])(
  'every node stores version %j under a sanitized name',
  (version) => {
    expect(problemOfRun({ ...RUN, version: aVersionName(version) }, SCRAPYD_TRAITS)).toBe(null)
  }
)
