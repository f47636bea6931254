import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { ScrapdeckError } from '../errors.ts'
import { fromWireError, toWireError } from '../wire-errors.ts'
import { en } from './en.ts'
import { errorTexts } from './error-texts.ts'
import { sentence } from './errors/nodes.ts'
import { type Catalogue, type Message, render } from './message.ts'

it('an error brings the code and parameters of its sentence to the client, which can render another language', () => {
  const error = new ScrapdeckError('NODE_NOT_FOUND', sentence('nodes.no_node', { id: 'n1' }), { data: { index: 2 } })
  const { message, data } = fromWireError(toWireError(error))
  expect(message).toBe('There is no node n1; it may have been removed')
  expect(data).toEqual({ index: 2, text: { code: 'nodes.no_node', params: { id: 'n1' } } })
  const de: Catalogue = {
    ...en,
    ...errorTexts,
    'nodes.no_node': ({ id }: { id: string }) => `Es gibt keinen Knoten ${id}`
  }
  expect(render(data['text'] as Message, de)).toBe('Es gibt keinen Knoten n1')
})

it('a sentence within another one keeps its code, so that both can be rendered in another language', () => {
  const problem = sentence('nodes.address_empty')
  const error = new ScrapdeckError('NODE_URL_INVALID', sentence('nodes.address_invalid', { problem }))
  const { message, data } = fromWireError(toWireError(error))
  expect(message).toBe('The address is empty. An address looks like http://eu-1:6800.')
  const de: Catalogue = {
    ...en,
    ...errorTexts,
    'nodes.address_empty': () => 'Die Adresse ist leer',
    'nodes.address_invalid': ({ problem: cause }: { problem: string }) => `${cause}. Beispiel: http://eu-1:6800.`
  }
  expect(render(data['text'] as Message, de)).toBe('Die Adresse ist leer. Beispiel: http://eu-1:6800.')
})

it('the code of each sentence begins with the name of its file', async () => {
  for (const file of readdirSync(new URL('errors', import.meta.url))) {
    const area = file.replace('.ts', '')
    const { sentence: _, ...texts } = (await import(`./errors/${file}`)) as Record<string, object>
    for (const code of Object.keys(Object.values(texts)[0]!))
      expect(code).toMatch(new RegExp(`^${area}\\.[a-z_][a-z0-9_]+$`))
  }
})
