import { X509Certificate } from 'node:crypto'
import type { Leadership } from './leadership.ts'

/** Expiry of the other engines' certificates; one that several engines share is listed once, for the first. */
export async function otherCertificates(
  leadership: Pick<Leadership, 'certificate' | 'certificates' | 'list'>
): Promise<{ engine: string; endsAtMs: number }[]> {
  const [{ engines }, shown] = await Promise.all([leadership.list(), leadership.certificates()])
  const seen = new Set([leadership.certificate?.own])
  return engines.flatMap(({ id, name }) => {
    const pem = shown.get(id)
    if (pem === undefined || seen.has(pem)) return []
    seen.add(pem)
    return [{ engine: name, endsAtMs: new X509Certificate(pem).validToDate.getTime() }]
  })
}
