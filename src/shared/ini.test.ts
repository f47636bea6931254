import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { parseIni, readIniValue, resolveIniValue } from './ini.ts'

test("finds a value in its section, whatever the key's case, with either delimiter", () => {
  const text = '# comment\n[deploy]\ndefault = wrong\n[settings]\r\n; no\r\nDefault : demo.settings \n'
  expect(readIniValue(text, 'settings', 'default')).toBe('demo.settings')
})

test('the last of equal keys wins', () => {
  expect(readIniValue('[a]\nb=1\nb=2\n', 'a', 'b')).toBe('2')
})

test('finds nothing in other sections, comments or continuation lines', () => {
  expect(readIniValue('[a]\n#b=1\nc = d\n  b = 2\n[x]\nb=3', 'a', 'b')).toBeNull()
})

describe('like ConfigParser', () => {
  const resolve = (text: string, section = 'a', key = 'x') => resolveIniValue(parseIni(text).sections, section, key)

  it('%% is a percent sign; %(name)s is another value, also from DEFAULT, and can be chained', () => {
    expect(resolve('[a]\nx = 100%%')).toBe('100%')
    expect(resolve('[DEFAULT]\nroot = /srv\n[a]\ndir = %(root)s/a\nx = %(Dir)s/logs')).toBe('/srv/a/logs')
    expect(resolve('[DEFAULT]\nx = 1\n[a]\n')).toBe('1')
  })

  it.each([
    ['[a]\nx = 5%', 'followed by neither'],
    ['[a]\nx = %(y)s', '%(y)s refers to an option that is not set'],
    ['[a]\nx = %(x)s', 'cycle']
  ])('%j is rejected', (text, why) => {
    expect(() => resolve(text)).toThrow(why)
  })

  it('reports problems with their line', () => {
    expect(parseIni('x = 1\n[a]\nnonsense\ny = 1\ny = 2\n[a]\n').problems).toEqual([
      { line: 1, text: 'it comes before the first [section]' },
      { line: 3, text: 'it is neither "name = value" nor a [section]' },
      { line: 5, text: 'y appears twice in [a]' },
      { line: 6, text: '[a] appears twice' }
    ])
  })

  it('any text gives the same result as in Python, or is rejected by both', () => {
    const line = fc.constantFrom(
      ...['[a]', '[b]', '[DEFAULT]', 'x = 1', 'y: 2', ' z = 3', '  more', '', '# no', '  ; no', 'X=', 'w = a # b'],
      ...['x', 'y = 50%%', 'v = %(x)s', ' = 1', '\t[c]', '[', '%', 'k = [v]', 'u = %']
    )
    const texts = fc.sample(
      fc.array(line, { maxLength: 9 }).map((lines) => lines.join('\n')),
      400
    )
    const answers = JSON.parse(execFileSync('python3', ['-c', PYTHON], { input: JSON.stringify(texts) }).toString())
    const ours = texts.map((text) => {
      const { sections, problems } = parseIni(text)
      if (problems.length > 0) return null
      try {
        const names = [...sections.keys()].filter((name) => name !== 'DEFAULT')
        const keysOf = (name: string) =>
          [...new Set([...(sections.get(name)?.keys() ?? []), ...(sections.get('DEFAULT')?.keys() ?? [])])].sort()
        return names
          .sort()
          .map((name) => [name, keysOf(name).map((key) => [key, resolveIniValue(sections, name, key)])])
      } catch {
        return null
      }
    })
    expect(ours.map((answer, index) => [texts[index], answer])).toEqual(
      texts.map((text, index) => [text, answers[index]])
    )
    expect(ours.some((answer) => answer !== null)).toBe(true)
  })
})

const PYTHON = `
import configparser, json, sys
def read(text):
    parser = configparser.ConfigParser()
    try:
        parser.read_string(text)
        return [[name, [[key, parser.get(name, key)] for key in sorted(parser.options(name))]] for name in sorted(parser.sections())]
    except configparser.Error:
        return None
    except ValueError:
        return None
json.dump([read(text) for text in json.load(sys.stdin)], sys.stdout)
`

// Eggs can contain such lines. Quadratic time would take most of an hour.
test('parses a line of a megabyte', () => {
  expect(readIniValue(`[a]\nb${' '.repeat(1_000_000)}c\nd = e\n`, 'a', 'd')).toBe('e')
})
