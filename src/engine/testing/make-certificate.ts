import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeTestDirectory } from './test-directory.ts'

export function makeCertificate(name: string, days = 2) {
  const directory = makeTestDirectory()
  const paths = { certificate: join(directory, 'cert.pem'), key: join(directory, 'key.pem') }
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', String(days)]
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
  const files = ['-keyout', paths.key, '-out', paths.certificate]
  execFileSync('openssl', ['req', '-x509', ...curve, ...subject, ...files], { stdio: 'ignore' })
  return { ...paths, pem: readFileSync(paths.certificate, 'utf8') }
}
