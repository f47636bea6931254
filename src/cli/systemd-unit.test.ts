import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { parseIni } from '../shared/ini.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

// systemd repeats keys where it means lists; the unit does without, so the reader of scrapyd.conf reads it, and sees a
// doubled line.
const { sections, problems } = parseIni(readFileSync(join(root, 'resources/systemd/scrapdeck.service'), 'utf8'))
const service = Object.fromEntries([...(sections.get('Service') ?? [])].map(([key, { text }]) => [key, text]))

it('the unit leaves spiders alone when it stops, and takes nothing from under them', () => {
  expect(problems).toEqual([])
  expect(service).toMatchObject({
    killmode: 'process',
    oompolicy: 'continue',
    // /tmp and shared memory of the user go at a stop.
    environment: 'TMPDIR=%S/scrapdeck/tmp',
    statedirectory: 'scrapdeck scrapdeck/tmp'
  })
  expect(service).not.toHaveProperty('removeipc')
})

it('the unit gives a user of its own and no way to more', () => {
  expect(service).toMatchObject({
    user: 'scrapdeck',
    umask: '0077',
    statedirectorymode: '0700',
    nonewprivileges: 'yes',
    capabilityboundingset: '',
    protectsystem: 'strict',
    protecthome: 'yes',
    privatetmp: 'yes',
    privatedevices: 'yes',
    restrictnamespaces: 'yes',
    systemcallfilter: '@system-service @pkey'
  })
  // V8 would not start.
  expect(service).not.toHaveProperty('memorydenywriteexecute')
})

it('the unit starts what the build makes, with one configuration file and its own data', () => {
  const [program, heap, script, ...args] = service['execstart']!.split(' ')
  expect(program).toBe('/opt/scrapdeck/node_modules/node/bin/node')
  expect(heap).toMatch(/^--max-semi-space-size=\d+$/)
  const build = readFileSync(join(root, 'scripts/setup/build.mjs'), 'utf8')
  expect(build).toContain(`'${script!.replace('/opt/scrapdeck/', '')}'`)
  expect(args).toEqual(['serve', '--config', '/etc/scrapyd/scrapyd.conf', '--data', '%S/scrapdeck'])
})
