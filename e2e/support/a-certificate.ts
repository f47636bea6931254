import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

export function aCertificate(directory: string, name: string): { path: string; key: string; fingerprint: string } {
  mkdirSync(directory, { recursive: true })
  const [path, key] = [join(directory, `${name}.pem`), join(directory, `${name}.key`)]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:deck.example.org']
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, '-keyout', key, '-out', path], { stdio: 'ignore' })
  const printed = execFileSync('openssl', ['x509', '-noout', '-fingerprint', '-sha256', '-in', path])
  return { path, key, fingerprint: String(printed).trim().split('=')[1]! }
}
