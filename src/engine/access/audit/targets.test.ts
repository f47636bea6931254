import { expect, test } from 'vitest'
import { contract, listOperations } from '../../../shared/contract/index.ts'
import { EXAMPLES } from '../../../shared/examples/operations.ts'
import { targetsOf } from './targets.ts'

type Example = { readonly [name: string]: Example } & { input?: object }

test('an entry names the kind of each thing that an operation changes by its id', () => {
  const unnamed = [...listOperations(contract).keys()].filter((operation) => {
    const example = operation.split('.').reduce((part, name) => part[name]!, EXAMPLES as unknown as Example)
    return targetsOf(operation, example.input).targets.some(({ noun }) => noun === 'id')
  })
  expect(unnamed).toEqual([])
})
