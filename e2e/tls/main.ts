/**
 * `npm run test:tls` runs SSLyze against the service's own TLS, and real proxies with the configurations of
 * docs/security.md in front of a real service. Exits with 1 if a check fails.
 */
import { ensureServiceBuilt } from '../../scripts/setup/build.mjs'
import { ensureDebianPrograms, ensureTlsScanner } from '../../scripts/setup/container-tools.mjs'
import { ensureDemoEnvironment } from '../../scripts/setup/test-environment.mjs'
import { PROXIES, tryProxy } from './proxies.ts'
import { scanOwnTls } from './scan.ts'

await ensureServiceBuilt()
await ensureDemoEnvironment()
await ensureDebianPrograms({ nginx: 'nginx-light', caddy: 'caddy', openssl: 'openssl' })
const programs = await ensureTlsScanner()
let failed = 0
for (const [title, run] of [
  ['SSLyze: Mozilla, intermediate', () => scanOwnTls(programs)],
  ...PROXIES.map((proxy) => [proxy.name, () => tryProxy(proxy)] as const)
] as const) {
  try {
    for (const line of await run()) console.log(`${title}: ${line}`)
  } catch (error) {
    failed += 1
    console.error(`${title}: FAILED: ${(error as Error).message}`)
  }
}
console.log(failed === 0 ? 'All passed' : `${failed} failed`)
process.exit(failed === 0 ? 0 : 1)
