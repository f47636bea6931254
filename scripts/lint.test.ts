import { ESLint } from 'eslint'
import { expect, test } from 'vitest'
import { rootDirectory } from './setup/platform.mjs'

const eslint = new ESLint({
  cwd: rootDirectory,
  // Under CI=true typescript-eslint would read each file once from the disk and never see the text it is given.
  overrideConfig: { languageOptions: { parserOptions: { disallowAutomaticSingleRunInference: true } } }
})
const FORBIDDEN = ['Date.now()', 'new Date()', 'Math.random()', 'setTimeout(() => {}, 1)', 'setInterval(() => {}, 1)']

test('the engine may not ask for the time or for chance itself, and is told of the clock', async () => {
  const lines = [...FORBIDDEN, 'new Date(5)'].map((code, number) => `export const found${number} = ${code}\n`)
  expect(await lint('src/engine/dispatch/decide/place.ts', lines.join(''))).toEqual(
    FORBIDDEN.map((_, number) => ({ line: number + 1, message: expect.stringContaining('take `clock` or `random`') }))
  )
}, 60_000)

test('the runtime room is where time comes from', async () => {
  expect(await lint('src/engine/runtime/clock.ts', 'export const found = Date.now()\n')).toEqual([])
}, 60_000)

test('a promise that nobody waits for is found', async () => {
  const text = 'const work = async () => {}\nexport function begin() {\n  work()\n}\n'
  expect(await lint('src/engine/dispatch/decide/place.ts', text)).toEqual([
    { line: 3, message: expect.stringContaining('Promises must be awaited') }
  ])
}, 60_000)

/** What is said of `file` if it had this text. */
async function lint(file: string, text: string): Promise<{ line: number; message: string }[]> {
  const [result] = await eslint.lintText(text, { filePath: `${rootDirectory}/${file}` })
  return (result?.messages ?? []).map(({ line, message }) => ({ line, message }))
}
