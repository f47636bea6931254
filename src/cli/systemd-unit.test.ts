import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { parseIni } from '../shared/ini.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

// systemd repeats keys to build lists. Our unit does not, so the INI parser can read it and reports duplicate lines.
const { sections, problems } = parseIni(readFileSync(join(root, 'resources/systemd/scrapdeck.service'), 'utf8'))
const service = Object.fromEntries([...(sections.get('Service') ?? [])].map(([key, { text }]) => [key, text]))

it('stopping the unit leaves spiders running, and removes nothing that they use', () => {
  expect(problems).toEqual([])
  expect(service).toMatchObject({
    type: 'notify',
    // systemd must not cut off a migration of a large database.
    timeoutstartsec: 'infinity',
    killmode: 'process',
    oompolicy: 'continue',
    // systemd removes the user's files in /tmp and shared memory when the unit stops.
    environment: 'TMPDIR=%S/scrapdeck/tmp SCRAPDECK_KEEP_SPIDERS_APART=sandbox',
    statedirectory: 'scrapdeck scrapdeck/tmp'
  })
  expect(service).not.toHaveProperty('removeipc')
})

it('the unit runs as a user of its own without further privileges', () => {
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
    // Allows only the namespaces that bubblewrap creates for a spider.
    restrictnamespaces: 'user mnt pid ipc',
    systemcallfilter: '@system-service @pkey mount umount2 pivot_root'
  })
  // With this option, V8 would not start.
  expect(service).not.toHaveProperty('memorydenywriteexecute')
  // With these options, bubblewrap could not mount a new /proc.
  expect(service).not.toHaveProperty('protectkerneltunables')
  expect(service).not.toHaveProperty('protectkernellogs')
})

it('the unit starts the built service with one configuration file and its own data', () => {
  const [program, heap, script, ...args] = service['execstart']!.split(' ')
  expect(program).toBe('/opt/scrapdeck/node_modules/node/bin/node')
  expect(heap).toMatch(/^--max-semi-space-size=\d+$/)
  const build = readFileSync(join(root, 'scripts/setup/build.mjs'), 'utf8')
  expect(build).toContain(`'${script!.replace('/opt/scrapdeck/', '')}'`)
  expect(args).toEqual(['serve', '--config', '/etc/scrapyd/scrapyd.conf', '--data', '%S/scrapdeck'])
})
