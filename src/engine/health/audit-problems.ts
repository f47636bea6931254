import type { Problem } from '../../shared/contract/index.ts'
import type { SyslogAway } from '../audit/syslog.ts'
import { UNRELATED } from './unrelated.ts'

/** Whoever relies on the copy elsewhere must know that it is behind. Pure. */
export function auditProblems(away: SyslogAway | null): Problem[] {
  if (away === null) return []
  const { address, reason, sinceMs } = away
  return [
    {
      ...UNRELATED,
      id: 'syslog',
      severity: 'warning',
      title: 'The audit log cannot be sent to the syslog server',
      text: `${address}: ${reason.replace(/\.$/, '')}. Entries are kept here and sent when the server is back. Check that it runs, and audit_syslog`,
      sinceMs,
      mend: null
    }
  ]
}
