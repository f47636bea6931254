import { readFileSync } from 'node:fs'
import wabt from 'wabt'

export async function assemble(source: URL): Promise<string> {
  const { parseWat } = await wabt()
  const { buffer } = parseWat(source.pathname, readFileSync(source, 'utf8'), { simd: true }).toBinary({})
  return Buffer.from(buffer).toString('base64')
}
