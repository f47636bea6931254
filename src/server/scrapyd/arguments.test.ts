import { expect, it } from 'vitest'
import type { FormPart } from '../forms/form-collector.ts'
import { IncomingFile } from '../../engine/storage/blobs/incoming-files.ts'
import { readArguments } from './parameters.ts'

const part = (name: string, value: string | IncomingFile): FormPart => ({
  name,
  fileName: null,
  type: 'text/plain',
  value: typeof value === 'string' ? Buffer.from(value) : value
})

const shown = (query: string, form: FormPart[] | null) =>
  Object.fromEntries([...readArguments(query, form).args].map(([name, values]) => [name, values.map(String)]))

it('values of the form replace those of the query, name by name', () => {
  const form = [part('project', 'b1'), part('project', 'b2')]
  expect(shown('project=query&spider=s', form)).toEqual({ project: ['b1', 'b2'], spider: ['s'] })
})

it('the query is used without a form', () => {
  expect(shown('project=query&spider=s', null)).toEqual({ project: ['query'], spider: ['s'] })
})

it('the first of several files is used, and none from the query', () => {
  const [one, two] = ['one', 'two'].map((path) => new IncomingFile(path, { sizeBytes: 1, sha256: '' }, async () => {}))
  const { args, files } = readArguments('egg=query', [part('egg', one!), part('egg', two!)])
  expect([args.get('egg'), files.get('egg')]).toEqual([undefined, one])
})
