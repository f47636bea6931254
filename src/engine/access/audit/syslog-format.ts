import type { AuditEntry } from '../../../shared/contract/index.ts'

/** RFC 5424, 6.2.1: "log audit". */
const FACILITY = 13
const SEVERITY = { done: 6, refused: 4, failed: 5 } as const
const HOST_MAX = 255
const MESSAGE_ID_MAX = 32

/**
 * One entry as a message of RFC 5424: `<110>1 2026-01-02T03:04:05.678Z host scrapdeck - nodes.update - {…}`. The entry
 * is JSON in ASCII, so that its text needs no byte order mark and no receiver has to guess.
 */
export function formatSyslog(entry: AuditEntry, host: string): string {
  const priority = FACILITY * 8 + SEVERITY[entry.result]
  const time = new Date(entry.atMs).toISOString()
  return `<${priority}>1 ${time} ${plain(host, HOST_MAX)} scrapdeck - ${plain(entry.operation, MESSAGE_ID_MAX)} - ${inAscii(entry)}`
}

/** RFC 6587, 3.4.1 and RFC 5425: how many bytes follow. */
export const frame = (message: string): string => `${message.length} ${message}`

/** PRINTUSASCII of the RFC: nothing in a name can begin another field. */
const plain = (text: string, maxLength: number): string => text.replaceAll(/[^!-~]/g, '_').slice(0, maxLength) || '-'

const inAscii = (entry: AuditEntry): string =>
  JSON.stringify(entry).replaceAll(
    /[^ -~]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  )
