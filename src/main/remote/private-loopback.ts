import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'

/**
 * Browsers send the cookies of an address to each port of it, also to that of another user. Linux and Windows have all
 * of 127.0.0.0/8, so nothing else is at a random address in it; macOS has one address for everything.
 */
export function pickLoopbackAddress(platform: NodeJS.Platform = process.platform): string {
  if (platform !== 'linux' && platform !== 'win32') return '127.0.0.1'
  // Not 127.0.x.y, where resolvers and the name of the machine are.
  return `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`
}

/** The table is not one snapshot: a line can be missing once while others come and go. */
const TRIES = 3
/** The second is for clients that use IPv6 sockets for both. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']
const MAPPED = '0000000000000000FFFF0000'

/** Whether the program at the other end of a connection over loopback is of this user. Only Linux says so. */
export async function isOfThisUser(socket: Socket, platform: NodeJS.Platform = process.platform): Promise<boolean> {
  if (platform !== 'linux') return true
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  if (remoteAddress === undefined || localAddress === undefined) return false
  const peer = { from: inTable(remoteAddress, remotePort!), to: inTable(localAddress, localPort!) }
  for (let tries = TRIES; tries > 0; tries -= 1) {
    const tables = await Promise.all(TABLES.map(readTable))
    // A sandbox around the app may hide it.
    if (tables[0] === null) return true
    for (const table of tables) {
      const uid = findUser(table ?? '', peer)
      if (uid !== null) return uid === process.geteuid!()
    }
  }
  return false
}

/** The user id in the line of one end of a connection, of proc(5), net/tcp; null: there is no such line. */
export function findUser(table: string, { from, to }: { from: string; to: string }): number | null {
  const line = new RegExp(`^ *\\d+: (?:${MAPPED})?${from} (?:${MAPPED})?${to} (?:\\S+ +){4}(\\d+) `, 'm')
  const [, uid] = line.exec(table) ?? []
  return uid === undefined ? null : Number(uid)
}

/** 127.0.0.1:80 is 0100007F:0050. */
function inTable(address: string, port: number): string {
  const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, '0')
  const bytes = address.split('.').toReversed()
  return `${bytes.map((byte) => hex(Number(byte), 2)).join('')}:${hex(port, 4)}`
}

const readTable = (path: string): Promise<string | null> => readFile(path, 'latin1').catch(() => null)
