import type { AlertEvidence, AlertNews } from '../../../../shared/contract/index.ts'

/** Never rejects, and enforces its own timeout. The message omits what cannot be read. */
export type ReadEvidence = (news: AlertNews) => Promise<AlertEvidence>

export const NO_EVIDENCE: AlertEvidence = { log: null, history: null }
