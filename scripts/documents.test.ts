import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { rootDirectory } from './setup/platform.mjs'

const files = execFileSync('git', ['ls-files'], { cwd: rootDirectory, encoding: 'utf8' }).trim().split('\n')
const WRITTEN_BY_US = /^(?:src|e2e|bench|simulation|scripts|resources)\/.*\.(?:ts|tsx|mjs|py|css)$/

test('every document that the code refers to exists', () => {
  const named = files
    .filter((file) => WRITTEN_BY_US.test(file) && !/\.test\.tsx?$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(rootDirectory, file), 'utf8')
      return [...text.matchAll(/(?<![\w/.-])((?:[\w.-]+\/)*[\w-]+\.md)\b/g)].map(([, document]) => ({ file, document }))
    })
  const isThere = (file: string, document: string) =>
    ['', 'docs', dirname(file)].some((folder) => existsSync(join(rootDirectory, folder, document)))
  expect(named.length).toBeGreaterThan(40)
  expect(named.filter(({ file, document }) => !isThere(file, document as string))).toEqual([])
})

test('every file that a README or ARCHITECTURE.md names exists', () => {
  const missing = files
    .filter((file) => /^(?:ARCHITECTURE\.md|src\/.*README\.md)$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(rootDirectory, file), 'utf8')
      const named = [...text.matchAll(/`(?:\.\.\/)*([\w./-]+\.(?:ts|tsx|md|wat))`/g)].map(([, name]) => name as string)
      return named.flatMap((name) => (files.some((one) => `/${one}`.endsWith(`/${name}`)) ? [] : [`${file}: ${name}`]))
    })
  expect(missing).toEqual([])
})

test('comments fit into 120 columns, like the code that the formatter breaks', () => {
  const long = files
    .filter((file) => /^(?:src|e2e|bench|simulation|scripts)\/.*\.(?:ts|tsx|mjs)$/.test(file))
    .flatMap((file) =>
      readFileSync(join(rootDirectory, file), 'utf8')
        .split('\n')
        .flatMap((line, at) =>
          line.length > 120 && /^\s*(?:\/\/|\/?\*)(?!.*\* \*)/.test(line) ? [`${file}:${at + 1}`] : []
        )
    )
  expect(long).toEqual([])
})
