import { describe, expect, it } from 'vitest'
import { readPluginLines } from './plugin-options.ts'

const FILE = import.meta.filename
const read = (text: string) => readPluginLines(text, import.meta.dirname)

describe('plugins in the configuration', () => {
  it('have one module per line, with our options and their own', () => {
    const text = `\n  plugin-options.test.ts\n  ${FILE} name=b timeout=0.5 memory=64 on_failure=hold url=http://a?b=c token=\n`
    expect(read(text)).toEqual({
      plugins: [
        {
          name: 'plugin-options-test',
          module: FILE,
          options: {},
          timeoutMs: 5_000,
          memoryMb: 256,
          onFailure: 'send'
        },
        {
          name: 'b',
          module: FILE,
          options: { url: 'http://a?b=c', token: '' },
          timeoutMs: 500,
          memoryMb: 64,
          onFailure: 'hold'
        }
      ],
      problems: []
    })
  })

  it.each([
    ['missing.ts', 'there is no file'],
    [`${FILE} name=a/b`, 'name= takes'],
    [`${FILE} name=a timeout=0`, 'timeout= takes'],
    [`${FILE} name=a timeout=1e3`, 'timeout= takes'],
    [`${FILE} name=a memory=1`, 'memory= takes'],
    [`${FILE} name=a on_failure=panic`, 'on_failure= takes'],
    [`${FILE} name=a token=geheim oops`, 'behind the module stand words'],
    [`${FILE} name=a\n${FILE} name=a`, 'a stands twice']
  ])('%j is rejected without showing any option', (text, words) => {
    const { problems } = read(text)
    expect(problems.join()).toContain(words)
    expect(problems.join()).not.toContain('geheim')
  })
})
