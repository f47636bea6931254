import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { RUNTIME_PACKAGES } from '../../deploy/image/runtime-packages.mjs'
import { OPTIONS } from '../../src/config/option-table.ts'
import { inRoot } from '../setup/platform.mjs'
import { readCompose } from './compose-file.ts'
import { readContainerfile } from './containerfile.ts'

const VARIABLES = { SCRAPDECK_HOST: 'deck.example.org' }
const ours = (name: string) => readCompose(inRoot(name), VARIABLES, '/secrets')

function aFile(text: string): string {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'scrapdeck-compose-file-'))
  onTestFinished(() => fs.rmSync(directory, { recursive: true }))
  fs.writeFileSync(path.join(directory, 'compose.yaml'), text)
  return path.join(directory, 'compose.yaml')
}

test.each(['compose.yaml', 'compose.single.yaml'])('%s hardens every service, and has no password', (name) => {
  const { services } = ours(name)
  for (const service of services) {
    expect(service.isReadOnly, service.name).toBe(true)
    for (const [key, value] of Object.entries(service.environment)) {
      expect(/PASSWORD|SECRET|KEY/.test(key) ? value : '/run/', `${service.name} ${key}`).toMatch(/^\/run\//)
    }
  }
  const text = fs.readFileSync(inRoot(name), 'utf8')
  expect(text.match(/cap_drop: \[ALL\]/g)).toHaveLength(1)
  expect(text).not.toMatch(/:\/\/[^\s:/@]+:[^\s@/]+@/)
})

test('compose.yaml: what spiders can do reaches neither database nor storage, and only nginx is reached from outside', () => {
  const { services } = ours('compose.yaml')
  const networks = Object.fromEntries(services.map(({ name, networks: joined }) => [name, Object.keys(joined)]))
  expect(networks).toMatchObject({
    nginx: ['outside', 'front'],
    'scrapyd-1': ['nodes'],
    postgres: ['data'],
    cache: ['data'],
    s3: ['data']
  })
  expect(services.map(({ name }) => name).indexOf('nginx')).toBe(services.length - 1)
  const nginx = fs.readFileSync(inRoot('deploy', 'compose', 'nginx.conf'), 'utf8')
  const engines = services.filter(({ name }) => name.startsWith('scrapdeck-'))
  expect(engines).toHaveLength(2)
  for (const { networks: joined } of engines) expect(nginx).toContain(`server ${joined['front']}:6800 `)
})

test('the image sets only options that exist, and has the packages that the bundle leaves out', () => {
  const known = OPTIONS.flatMap(({ variables }) => variables)
  const { environment, user } = readContainerfile(inRoot('Containerfile'), 'scrapdeck')
  expect(user).toBe('10001:10001')
  const own = Object.keys(environment).filter((name) => name.startsWith('SCRAPDECK_'))
  expect(own.length).toBeGreaterThan(2)
  expect(own.filter((name) => !known.includes(name))).toEqual([])
  const bundle = fs.readFileSync(inRoot('service.vite.config.ts'), 'utf8')
  const external = JSON.parse(/external: (\[.*\])/.exec(bundle)![1]!.replaceAll("'", '"')) as string[]
  expect(RUNTIME_PACKAGES).toEqual(expect.arrayContaining(external))
})

test('a service without a probe, one that does not wait, a missing variable and a circle are refused', () => {
  const read = (services: string) => readCompose(aFile(`services:\n${services}`), {}, '/secrets')
  const probe = 'image: a, healthcheck: { test: [CMD, "true"] }'
  expect(() => read('  a: { image: a }')).toThrow('The service a has no healthcheck')
  expect(() => read(`  a: { ${probe}, depends_on: { b: {} } }\n  b: { ${probe} }`)).toThrow('does not wait until it is')
  expect(() => read(`  a: { ${probe}, command: ["\${NAME:?a name}"] }`)).toThrow('Set NAME: a name')
  const needs = (other: string) => `depends_on: { ${other}: { condition: service_healthy } }`
  expect(() => read(`  a: { ${probe}, ${needs('b')} }\n  b: { ${probe}, ${needs('a')} }`)).toThrow('in a circle')
  const [b, a] = read(`  a: { ${probe}, ${needs('b')}, command: ["$$x", "\${Y:-z}"] }\n  b: { ${probe} }`).services
  expect([b?.name, a?.name, a?.command]).toEqual(['b', 'a', ['$x', 'z']])
})
