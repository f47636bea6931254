import { describe, expect, test } from 'vitest'
import { RunTemplate, SECRET_MASK } from '../../../shared/contract/index.ts'
import { maskSecrets } from '../../../shared/secret-values.ts'
import { asSealedText } from '../../runtime/secret-box.ts'
import { openTemplate, sealTemplate } from './template-secrets.ts'

const box = {
  seal: async (text: string) => asSealedText(`sealed(${text})`),
  open: async (text: string) => text.replace(/^sealed\((.*)\)$/, '$1')
}

const TEMPLATE = RunTemplate.parse({
  project: 'shop',
  spiders: ['prices'],
  settings: { TOKEN: 'a', DELAY: '2' },
  args: { 'pass:word': 'b' },
  argSets: [{ key: 'c' }, { key: 'd', day: '1' }],
  matrix: { key: ['e', 'f'], country: ['de'] },
  secretNames: ['TOKEN', 'pass:word', 'key']
})

describe('secret values of a template', () => {
  test('are encrypted wherever they are, are never shown, and are decrypted to create jobs', async () => {
    const sealed = await sealTemplate(TEMPLATE, null, box)
    expect(
      JSON.stringify(sealed)
        .match(/sealed\(.\)/g)
        ?.sort()
    ).toEqual('abcdef'.split('').map((one) => `sealed(${one})`))
    expect(sealed.settings['DELAY']).toBe('2')
    const masked = maskSecrets(sealed)
    expect(JSON.stringify(masked)).not.toContain('sealed(')
    expect(masked.argSets[1]).toEqual({ key: SECRET_MASK, day: '1' })
    expect(await openTemplate(sealed, box)).toEqual(TEMPLATE)
  })

  test('are kept in each place where the mask comes back', async () => {
    const sealed = await sealTemplate(TEMPLATE, null, box)
    const edited = { ...maskSecrets(sealed), settings: { TOKEN: 'new', DELAY: '3' } }
    expect(await sealTemplate(edited, sealed, box)).toEqual({
      ...sealed,
      settings: { TOKEN: 'sealed(new)', DELAY: '3' }
    })
  })

  test('are refused if the mask or the name has no earlier value', async () => {
    await expect(sealTemplate(maskSecrets(TEMPLATE), null, box)).rejects.toMatchObject({ code: 'BAD_INPUT' })
    await expect(sealTemplate({ ...TEMPLATE, secretNames: ['other'] }, null, box)).rejects.toThrow('"other"')
  })
})
