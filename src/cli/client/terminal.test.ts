import { expect, it } from 'vitest'
import { table } from './output.ts'
import { withoutSteering } from './terminal.ts'

it('a line of a log hides nothing on a terminal, and its colours end with it', () => {
  const red = '\x1b[31mred'
  expect(withoutSteering(`${red}\nplain\n`)).toBe(`${red}\x1b[0m\nplain\n`)
  expect(withoutSteering('\x1b[38;5;8mgrey \x1b[38;2;8;8;8mdark')).toBe('\x1b[38;5;8mgrey \x1b[38;2;8;8;8mdark\x1b[0m')
  for (const conceal of ['8', '08', '1;8', '8;31', '38;5;9;8']) {
    expect(withoutSteering(`\x1b[${conceal}mhidden`)).toBe('hidden')
  }
  expect(withoutSteering('\x1b[2J\x1b]0;title\x07\x9b8m')).toBe('[2J]0;title8m')
})

it('a cell of a table has no colours, which would continue in the rows below', () => {
  expect(table(['name'], [['\x1b[30;40mdark'], ['next']], '')).not.toContain('\x1b')
})
