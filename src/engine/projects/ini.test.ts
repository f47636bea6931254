import { expect, test } from 'vitest'
import { readIniValue } from './ini.ts'

test('a value is found in its section, whatever its case, with either delimiter', () => {
  const text = '# comment\n[deploy]\ndefault = wrong\n[settings]\r\n; no\r\nDefault : demo.settings \n'
  expect(readIniValue(text, 'settings', 'default')).toBe('demo.settings')
})

test('the last of equal keys wins', () => {
  expect(readIniValue('[a]\nb=1\nb=2\n', 'a', 'b')).toBe('2')
})

test('there is none in another section, in a comment or in a line that goes on', () => {
  expect(readIniValue('[a]\n#b=1\nc = d\n  b = 2\n[x]\nb=3', 'a', 'b')).toBeNull()
})
