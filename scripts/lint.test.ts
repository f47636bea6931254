import { execFile } from 'node:child_process'
import fs from 'node:fs/promises'
import path from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import config from '../oxlint.config.ts'
import { makeTemporaryDirectory } from '../src/engine/testing/temporary-directory.ts'
import { inRoot, packageFile } from './setup/platform.mjs'

const ENGINE = 'src/engine/jobs/dispatch/place.ts'
const SCREEN = 'src/renderer/app/screen.tsx'
const TEXTS = 'src/renderer/features/audit/screen.tsx'
const UNUSED_DIRECTIVE = 'Unused oxlint-disable directive (no problems were reported).'

const TYPES = { extends: inRoot('src/renderer/tsconfig.json'), compilerOptions: { rootDir: '.' }, include: ['src'] }

const switchOver = (more: string) =>
  `export const sizeOf = (name: 'one' | 'two') => {\n  switch (name) {\n    case 'one':\n      return 1\n${more}  }\n}`
const hookOf = (body: string) =>
  `import { useEffect } from 'react'\nexport function useTitle(title: string, isShown: boolean) {\n  ${body}\n}`

/** One mistake for each rule and each of its forms: the rule that must fire, the mistake, the file, the code. */
const PLANTED: [rule: string, mistake: string, file: string, code: string][] = [
  ['no-floating-promises', 'a promise that nobody waits for', ENGINE, 'const work = async () => {}\nwork()'],
  [
    'no-misused-promises',
    'a promise as a condition',
    ENGINE,
    'const work = async () => 1\nif (work()) throw new Error()'
  ],
  ['no-misused-promises', 'an async callback of what waits for none', ENGINE, '[1].forEach(async () => {})'],
  ['no-misused-spread', 'a spread text', ENGINE, `export const found = [...'text']`],
  ['only-throw-error', 'a thrown text', ENGINE, `throw 'text'`],
  ['switch-exhaustiveness-check', 'a case that is missing', ENGINE, switchOver('')],
  ['no-explicit-any', 'any', ENGINE, 'export const read = (text: string): any => JSON.parse(text)'],
  ['eqeqeq', 'a loose comparison', ENGINE, 'export const isOne = (one: number) => one == 1'],
  ['no-empty', 'an error that is swallowed', ENGINE, 'try {\n  JSON.parse("{")\n} catch {}'],
  ['no-spread-literal', 'a spread literal', ENGINE, 'export const sizeOf = (a: number) => ({ ...{ a, b: 2 } })'],
  ['rules-of-hooks', 'a hook in a branch', SCREEN, hookOf('if (isShown) useEffect(() => console.log(title))')],
  ['exhaustive-deps', 'a dependency that is missing', SCREEN, hookOf('useEffect(() => console.log(title), [])')],
  ['no-bare-sentences', 'a word in JSX', TEXTS, 'export const Head = () => <b>cancel</b>'],
  ['no-bare-sentences', 'a label', TEXTS, `export const Head = () => <b title="Cancel">{1}</b>`],
  ['no-bare-sentences', 'a sentence', TEXTS, `export const why = (isOver: boolean) => (isOver ? 'it is over' : null)`],
  ['no-bare-sentences', 'a template', TEXTS, 'export const sent = (node: string) => `sent to ${node}`'],
  ['no-restricted-globals', 'setTimeout', ENGINE, 'setTimeout(() => {}, 1)'],
  ['no-restricted-globals', 'setInterval', ENGINE, 'setInterval(() => {}, 1)'],
  ['no-restricted-globals', 'fetch in the engine', ENGINE, 'export const ask = (url: string) => fetch(url)'],
  ['no-restricted-globals', 'fetch in the server', 'src/server/app.ts', 'export const ask = () => fetch("")'],
  ['no-restricted-imports', 'fetch of undici in the engine', ENGINE, `export { fetch } from 'undici'`],
  ['no-restricted-imports', 'fetch of undici in the shell', 'src/main/ask.ts', `export { fetch } from 'undici'`],
  ['no-restricted-globals', 'Node in a screen', SCREEN, 'export const found = process.platform'],
  ['no-restricted-imports', 'an import of timers', ENGINE, `export { setTimeout } from 'node:timers'`],
  [
    'no-restricted-imports',
    'an import of promised timers',
    ENGINE,
    `export { setTimeout } from 'node:timers/promises'`
  ],
  ['no-restricted-properties', 'Date.now', ENGINE, 'export const found = Date.now()'],
  ['no-restricted-properties', 'Math.random', ENGINE, 'export const found = Math.random()'],
  ['no-new-date', 'new Date()', ENGINE, 'export const found = new Date()'],
  [
    UNUSED_DIRECTIVE,
    'a comment that silences nothing',
    ENGINE,
    '// oxlint-disable-next-line no-empty\nexport const a = 1'
  ]
]

const ALLOWED: [what: string, file: string, code: string][] = [
  ['a date made of a number in the engine', ENGINE, 'export const found = new Date(5)'],
  ['null or undefined in one comparison', ENGINE, 'export const isThere = (one?: number | null) => one != null'],
  ['a default for the other cases', ENGINE, switchOver('    default:\n      return 0\n')],
  ['Node in a test of a screen', 'src/renderer/app/screen.test.tsx', 'export const found = process.platform'],
  ['the time in the runtime room', 'src/engine/runtime/clock.ts', 'export const found = [Date.now(), new Date()]'],
  ['a timer in what tests use', 'src/engine/testing/wait.ts', 'setTimeout(() => {}, 1)'],
  ['the time in a test of the engine', 'src/engine/jobs/queue/line.test.ts', 'export const found = Date.now()'],
  ['the time outside the engine', 'src/server/app.ts', 'export const found = Date.now()'],
  ['undici without fetch', ENGINE, `export { request } from 'undici'`],
  ['fetch in a screen', SCREEN, 'export const ask = () => fetch("")'],
  ['an async handler of a button', SCREEN, 'export const Go = () => <button onClick={async () => {}} />'],
  [
    ...(['a thrown redirect of the router', SCREEN] as const),
    `import { redirect } from '@tanstack/react-router'\nexport const leave = () => {\n  throw redirect({ to: '/' })\n}`
  ]
]

/** The linter's findings for each file. If a finding names no rule, `rule` is the message. */
let found: Map<string, { rule: string; words: string }[]>

beforeAll(async () => {
  // Uses a directory outside the checkout, because the checkout's .gitignore would hide it from the linter.
  await using house = await makeTemporaryDirectory()
  const write = async (file: string, text: string) => {
    const target = path.join(house.path, file)
    await fs.mkdir(path.dirname(target), { recursive: true })
    await fs.writeFile(target, text)
  }
  for (const [, mistake, file, code] of PLANTED) await write(placeOf(mistake, file), `${code}\n`)
  for (const [what, file, code] of ALLOWED) await write(placeOf(what, file), `${code}\n`)
  await write('oxlint.config.ts', `export { default } from ${JSON.stringify(inRoot('oxlint.config.ts'))}\n`)
  await write('tsconfig.json', JSON.stringify(TYPES))
  await fs.symlink(inRoot('node_modules'), path.join(house.path, 'node_modules'), 'junction')
  found = await lint(house.path)
}, 60_000)

test.each(PLANTED)('%s finds %s', (rule, mistake, file) => {
  expect(found.get(placeOf(mistake, file))?.map((one) => one.rule)).toEqual([rule])
})

test.each(ALLOWED)('%s is allowed', (what, file) => {
  expect(found.get(placeOf(what, file))).toBeUndefined()
})

test('code in the engine that reads the time or a random number is pointed to the clock', () => {
  const ofTime = [...found.values()]
    .flat()
    .filter(({ rule, words }) => /no-restricted|no-new-date/.test(rule) && !/Node|fetch/.test(words))
  expect(ofTime).toHaveLength(7)
  for (const { words } of ofTime) expect(words).toContain('take `clock` or `random` from src/engine/runtime')
})

test('every rule has a planted mistake', () => {
  const rules = [config, ...config.overrides].flatMap(({ rules }) => Object.keys(rules))
  const names = new Set(rules.map((rule) => rule.split('/').at(-1)!))
  expect(new Set(PLANTED.map(([rule]) => rule))).toEqual(names.add(UNUSED_DIRECTIVE))
})

function placeOf(what: string, file: string): string {
  const { dir, base } = path.posix.parse(file)
  return `${dir}/${what.replace(/\W+/g, '-')}-${base}`
}

interface Diagnostic {
  filename: string
  /** `plugin(rule)` */
  code?: string
  message: string
  help?: string
}

async function lint(directory: string): Promise<typeof found> {
  const text = await new Promise<string>((resolve, reject) => {
    const args = [packageFile('oxlint/bin/oxlint'), '--format', 'json', 'src']
    // Exit status 1 means that the linter found something.
    execFile(process.execPath, args, { cwd: directory }, (error, stdout, stderr) =>
      error && error.code !== 1 ? reject(new Error(stdout + stderr, { cause: error })) : resolve(stdout)
    )
  })
  const { diagnostics }: { diagnostics: Diagnostic[] } = JSON.parse(text)
  const all = diagnostics.map(({ filename, code, message, help }) => ({
    file: filename.replaceAll('\\', '/'),
    rule: code?.match(/\((.+)\)/)?.[1] ?? message,
    words: `${message} ${help}`
  }))
  return Map.groupBy(all, ({ file }) => file)
}
