import { hostname } from 'node:os'
import type { SecretBox } from '../runtime/secret-box.ts'
import type { SyslogAddress } from '../runtime/syslog-address.ts'
import { stop, type Tools } from '../runtime/tools.ts'
import type { Store } from '../storage/store.ts'
import { Access } from './access.ts'
import { Audit } from './audit/audit.ts'
import { SyslogStream } from './audit/syslog.ts'
import { SecondFactors } from './second-factor/second-factors.ts'
import { SignIns } from './sign-ins.ts'

export interface AccessOptions {
  /** `days`: how long to keep the audit log (0: forever; default: 400). `syslog`: the server that receives it. */
  audit?: { days: number; syslog: SyslogAddress | null }
}

interface Parts extends Tools {
  store: Store
  secretBox: SecretBox
  ownerName: string
}

export type EngineAccess = Awaited<ReturnType<typeof openAccess>>

export async function openAccess(opened: AsyncDisposableStack, options: AccessOptions, parts: Parts) {
  const access = opened.adopt(await Access.open(parts), stop)
  const secondFactors = await SecondFactors.open({ ...parts, access })
  const audit = opened.adopt(new Audit({ ...parts, tokenName: (id) => access.tokenName(id) }), stop)
  const address = options.audit?.syslog ?? null
  const auditStream = address && new SyslogStream({ ...parts, address, hostName: hostname() })
  opened.adopt(auditStream, stop)
  return { access, secondFactors, signIns: new SignIns({ access, clock: parts.clock }), audit, auditStream }
}
