import { expect, it } from 'vitest'
import { z } from 'zod'
import { NodeSettings, RunInput } from './contract/index.ts'

const saidOf = (schema: z.ZodType, input: unknown): string | undefined =>
  schema.safeParse(input).error?.issues[0]?.message

it.each<[z.ZodType, unknown, string]>([
  [NodeSettings, { slots: 'two' }, 'must be a number'],
  [NodeSettings, { slots: 1.5 }, 'must be a whole number'],
  [NodeSettings, { slots: 0 }, 'must be at least 1'],
  [NodeSettings, { slots: 10_001 }, 'must be at most 10000'],
  [NodeSettings, { name: '' }, 'must not be empty'],
  [NodeSettings, { name: 'x'.repeat(101) }, 'must have at most 100 characters'],
  [NodeSettings, { tags: 'eu' }, 'must be a list'],
  [RunInput, { project: 'shop', spiders: [] }, 'must not be empty'],
  [RunInput, { spiders: ['a'] }, 'is missing'],
  [RunInput, 'shop', 'must be an object'],
  [z.enum(['a', 'b']), 'c', 'must be one of "a", "b"'],
  [z.literal('a'), 'c', 'must be "a"'],
  [z.strictObject({}), { x: 1 }, 'has no field "x"'],
  [z.number().gt(3), 3, 'must be more than 3'],
  [z.url(), 'x', 'must be a valid url'],
  [z.string().regex(/^a$/), 'b', 'must match /^a$/'],
  [z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 entry'],
  [z.boolean(), 'yes', 'must be true or false']
])('a refused value is explained in plain words (%#)', (schema, input, words) => {
  expect(saidOf(schema, input)).toBe(words)
})
