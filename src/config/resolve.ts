import { checkOtherOptions } from './check-other-options.ts'
import { type OptionContext, OptionReader, refuseProblems } from './option-reader.ts'
import { plainHttpOn } from './plain-http.ts'
import { readOwnOptions } from './read-own-options.ts'
import { readScrapydOptions } from './read-scrapyd-options.ts'
import { listSecretFiles } from './secret-files.ts'
import type { ResolvedOptions, ServeOptions } from './serve-options.ts'

/** Throws BAD_INPUT with every rejected option: its name, the reason and what to do. None is silently ignored. */
export function resolveServeOptions(context: OptionContext): ResolvedOptions {
  const reader = new OptionReader(context)
  const options: ServeOptions = {
    ...readScrapydOptions(reader),
    ...readOwnOptions(reader),
    secretFiles: listSecretFiles(context)
  }
  checkOtherOptions(reader)
  const { listed, warnings, problems } = reader
  if (options.port === null && options.unixSocketPath === null) {
    problems.push(
      'http_port or bind_address is empty and there is no unix_socket_path: Scrapdeck would not be reachable. Set one of them.'
    )
  }
  if (options.tls?.files === 'self-made' && options.tls.clientAuthority !== null && options.postgres !== null) {
    problems.push(
      'tls_client_ca needs tls_certificate and tls_key on PostgreSQL: engines show each other their certificate, which that authority must have signed.'
    )
  }
  const plain = plainHttpOn(options)
  if (plain !== null && options.allowPlainHttp) {
    reader.warn(
      `allow_plain_http: ${plain} is reachable from other machines over plain HTTP, so passwords can be intercepted. Set tls_certificate and tls_key, or put a proxy with TLS in front and set behind_proxy.`
    )
  }
  refuseProblems(problems)
  return { options, listed, warnings }
}
