import { expect, test } from 'vitest'
import { problemOfSandbox, readSandboxFacts, splitPort } from './electron-start.mjs'

test.each([
  [[], null, []],
  [['--port', '7000'], '7000', []],
  [['a', '--port=7000', 'b'], '7000', ['a', 'b']],
  [['--port'], '', []]
])('npm start takes the port out of %j', (args, port, rest) => {
  expect(splitPort(args)).toEqual({ port, rest })
})

test('npm start says why the sandbox cannot work, and what to do', () => {
  const works = { isRoot: false, hasSetuidSandbox: false, canUnshare: true, isRestricted: false }
  expect(problemOfSandbox(works)).toBeNull()
  expect(problemOfSandbox({ ...works, canUnshare: false, hasSetuidSandbox: true })).toBeNull()
  expect(problemOfSandbox({ ...works, isRoot: true })).toContain('ordinary user')
  expect(problemOfSandbox({ ...works, canUnshare: false })).toContain('user.max_user_namespaces')
  expect(problemOfSandbox({ ...works, canUnshare: false, isRestricted: true })).toContain('AppArmor profile')
})

test('the facts of this machine can be read', () => {
  expect(readSandboxFacts('/nowhere/electron')).toMatchObject({ hasSetuidSandbox: false })
})
