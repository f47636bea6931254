import type { AlertEvidence, AlertNews } from '../../../../shared/contract/index.ts'

/** Never rejects, and enforces its own timeout: what cannot be read is left out of the message. */
export type ReadEvidence = (news: AlertNews) => Promise<AlertEvidence>

export const NO_EVIDENCE: AlertEvidence = { log: null, history: null }
