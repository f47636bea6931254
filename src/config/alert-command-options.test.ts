import { expect, test } from 'vitest'
import { readCommandLines } from './alert-command-options.ts'

const node = process.execPath

test('each line names a program and its arguments, quoted if they contain spaces', () => {
  expect(readCommandLines(`page=${node} -e "a b" 'c d' e\n\n mail=${node}`, '/')).toEqual({
    commands: [
      { name: 'page', program: node, args: ['-e', 'a b', 'c d', 'e'] },
      { name: 'mail', program: node, args: [] }
    ],
    problems: []
  })
})

test('the error for an invalid line shows its name only, since arguments may be passwords', () => {
  const { commands, problems } = readCommandLines(
    [`a=${node}`, `a=${node} hunter2`, 'b=/no/such/program hunter2', `c=${node} "hunter2`, 'hunter2 x', 'd='].join(
      '\n'
    ),
    '/'
  )
  expect(commands).toHaveLength(1)
  expect(problems).toEqual([
    expect.stringContaining('a stands twice'),
    expect.stringContaining('b: there is no file /no/such/program'),
    expect.stringContaining('c: a quote is missing'),
    expect.stringContaining('write it as NAME=/PATH/PROGRAM'),
    expect.stringContaining('d: write it as')
  ])
  expect(problems.slice(0, 3).join()).not.toContain('hunter2')
})
