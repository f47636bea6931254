import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { findInNetrc, parseNetrc } from './netrc.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'scrapdeck-netrc-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

function write(text: string, mode = 0o600): string {
  const path = join(directory, '.netrc')
  writeFileSync(path, text)
  chmodSync(path, mode)
  return path
}

const find = (host: string, environment: Record<string, string> = {}) =>
  findInNetrc(host, { homeDirectory: directory, environment })

/** Python's netrc module defines the meaning of these files, because scrapyd-deploy uses it. */
const FILES = [
  'machine a.example login me password secret\n',
  'machine a.example\n\tlogin me\n\tpassword "two words"\n\taccount x\ndefault login any password other\n',
  '# a comment\nmachine a.example user me password s\\"q\\\\b\n# machine b.example login no password no\nmachine b.example login b password "q\\"x y"\n',
  'machine a.example login me password p#ss\nmacdef init\ncd /pub\nmachine b.example login no password no\n\nmachine c.example login c password d\n',
  'machine a.example login one password one machine a.example login two password two',
  'machine a.example password only\n',
  ''
]

it.each(FILES)('is parsed like in Python: %j', (text) => {
  const path = write(text)
  const program = `import json, netrc, sys; print(json.dumps({'' if host == 'default' else host: {'username': login, 'password': password} for host, (login, _, password) in netrc.netrc(sys.argv[1]).hosts.items()}))`
  const expected: unknown = JSON.parse(execFileSync('python3', ['-c', program, path], { encoding: 'utf8' }))
  expect(Object.fromEntries(parseNetrc(text))).toEqual(expected)
})

it('entries match by host, whatever the port, and the default entry matches all others', () => {
  write('machine a.example login a password one\ndefault login any password other')
  expect(find('a.example')).toEqual({ username: 'a', password: 'one' })
  expect(find('b.example')).toEqual({ username: 'any', password: 'other' })
  rmSync(join(directory, '.netrc'))
  expect(find('a.example')).toBeNull()
})

it('NETRC names another file', () => {
  const path = join(directory, 'other')
  writeFileSync(path, 'machine a.example login a password one', { mode: 0o600 })
  expect(find('a.example', { NETRC: path })).toEqual({ username: 'a', password: 'one' })
})

it('a file with passwords that others can read is refused, but only if they are needed', () => {
  const path = write('machine a.example login a password one\nmachine ftp.example login anonymous password me@', 0o640)
  expect(() => find('a.example')).toThrow(`chmod 600 ${path}`)
  expect(find('elsewhere.example')).toBeNull()
  expect(find('ftp.example')).toEqual({ username: 'anonymous', password: 'me@' })
})

it.each(['nonsense', 'machine', 'machine a login', 'machine a hunter2 me'])(
  '%j is rejected without quoting it',
  (text) => {
    write(text)
    expect(() => find('a')).toThrow('is not understood')
    expect(() => find('a')).not.toThrow(/hunter2|nonsense/)
  }
)
