import type { AuditEntry } from '../../../shared/contract/index.ts'
import { texts } from '../../../shared/texts/ui/audit.ts'

const DOORS: Record<AuditEntry['door'], string> = {
  ui: texts.scrapdeckUi,
  api: 'API',
  jsonrpc: 'JSON-RPC',
  scrapyd: texts.scrapydApi,
  socket: texts.localCommandLine,
  login: texts.loginPage
}

/** `10.0.0.7, API` */
export const originWords = ({ address, door }: AuditEntry): string =>
  address === null ? (door === 'ui' ? texts.thisComputer : DOORS[door]) : `${address}, ${DOORS[door]}`

export const whoWords = ({ who: { name, tokenName } }: AuditEntry): string =>
  tokenName === null ? name : texts.nameAndToken(name, tokenName)

/** The names of the changed things, or of the things that the request names. */
export function targetWords({ changes, targets, moreTargets, project }: AuditEntry): string {
  const named = changes.length > 0 ? changes : targets
  const shown = named.slice(0, 3).map(({ noun, name }) => (noun === name ? noun : `${noun} ${name}`))
  const more = named.length - shown.length + (changes.length > 0 ? 0 : moreTargets)
  if (shown.length === 0) return project === null ? '' : texts.projectNamed(project)
  return [...shown, ...(more > 0 ? [texts.moreEntries(more)] : [])].join(', ')
}

export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
