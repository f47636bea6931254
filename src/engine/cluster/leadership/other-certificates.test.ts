import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import type { EngineInfo } from '../../../shared/contract/index.ts'
import { makeCertificate } from '../../testing/make-certificate.ts'
import { otherCertificates } from './leadership.ts'

test('each certificate of another engine is listed once, but not our own or a missing one', async () => {
  const [own, theirs] = [makeCertificate('a.example.org').pem, makeCertificate('b.example.org').pem]
  const engines = ['one', 'two', 'three', 'plain'].map((name) => ({ id: `id-${name}`, name }) as EngineInfo)
  const shown = new Map([
    ['id-one', own],
    ['id-two', theirs],
    ['id-three', theirs]
  ])
  const found = await otherCertificates({
    certificate: { own, context: {} },
    certificates: async () => shown,
    list: async () => ({ shared: true, engines, terms: [] })
  })
  expect(found).toEqual([{ engine: 'two', endsAtMs: new X509Certificate(theirs).validToDate.getTime() }])
})
