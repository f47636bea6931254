import { existsSync, lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs'
import { dirname, isAbsolute, join, parse, resolve } from 'node:path'
import { ScrapdeckError } from '../../shared/errors.ts'
import { sentence } from '../../shared/texts/errors/storage.ts'

/**
 * Finds out who can change a file, like sshd's StrictModes and git's safe.directory. All differences between systems
 * are in this file: Windows has neither user ids nor mode bits, and access lists make its profile directories private.
 */
const HAS_OWNERS = process.platform !== 'win32'
const ROOT = 0
const WRITABLE_BY_GROUP = 0o020
const WRITABLE_BY_ALL = 0o002
const STICKY = 0o1000
const LONGEST_LINK_CHAIN = 40

export interface Distrust {
  path: string
  reason: string
  remedy: string
}

const ownUserId = (): number | null => (HAS_OWNERS ? process.geteuid!() : null)

export function isForeign({ uid }: Pick<Stats, 'uid'>): boolean {
  return HAS_OWNERS && uid !== ROOT && uid !== ownUserId()
}

/** Whether another user may have planted the file. Not checked for root, who works with the files of all users. */
export const mayBePlanted = (info: Pick<Stats, 'uid'>): boolean => isForeign(info) && ownUserId() !== ROOT

/** Whether the file belongs to this user, who can therefore change its mode. */
export const isOwn = ({ uid }: Pick<Stats, 'uid'>): boolean => HAS_OWNERS && uid === ownUserId()

export const isOthers = (info: Pick<Stats, 'uid'>): boolean => HAS_OWNERS && !isOwn(info)

/** The owner's name, or the user id if the system does not list it. */
export const findOwner = ({ uid }: Pick<Stats, 'uid'>): string => userName(uid)

/** Whether other users can reach files in this directory whose names they know. */
export function othersMayReach({ mode }: Pick<Stats, 'mode'>): boolean {
  return HAS_OWNERS && (mode & 0o033) !== 0
}

export function othersMayRead({ mode }: Pick<Stats, 'mode'>): boolean {
  return HAS_OWNERS && (mode & 0o077) !== 0
}

/**
 * Returns null if only this user and root can change the file: the file, every directory above it and every link in
 * its path belong to one of them, and no one else can write there. In a sticky directory such as /tmp, others can
 * neither rename nor replace it. A missing file is trusted.
 */
export function findDistrust(path: string, links = 0): Distrust | null {
  if (!HAS_OWNERS) return null
  const whole = resolve(path)
  const { root } = parse(whole)
  const names = whole.slice(root.length).split(/[\\/]/)
  let place = root
  for (const [index, name] of ['', ...names].entries()) {
    place = join(place, name)
    const info = lstatSync(place, { throwIfNoEntry: false })
    if (info === undefined) return null
    if (isForeign(info)) return { path: place, ...foreignOwner(place, info.uid) }
    if (info.isSymbolicLink()) {
      if (links >= LONGEST_LINK_CHAIN) return { path: place, reason: 'is a loop of links', remedy: `rm ${place}` }
      const target = readlinkSync(place)
      const start = isAbsolute(target) ? target : join(dirname(place), target)
      return findDistrust(join(start, ...names.slice(index)), links + 1)
    }
    const writers = findWriters(info)
    if (writers !== null && !(info.isDirectory() && info.mode & STICKY)) {
      return { path: place, reason: `can be written by ${writers}`, remedy: `chmod go-w ${place}` }
    }
  }
  return null
}

/** Throws BAD_INPUT with the file and the remedy. `otherwise`: the remedy if the file belongs to someone else. */
export function requireTrusted(path: string, otherwise: string): void {
  const distrust = findDistrust(path)
  if (distrust === null) return
  const subject = distrust.path === resolve(path) ? 'it' : `its directory ${distrust.path}`
  throw new ScrapdeckError(
    'BAD_INPUT',
    sentence('storage.file_not_trusted', { path, subject, reason: distrust.reason, remedy: distrust.remedy, otherwise })
  )
}

function foreignOwner(place: string, uid: number): Omit<Distrust, 'path'> {
  return { reason: `belongs to another user (${userName(uid)})`, remedy: `chown ${userName(ownUserId()!)} ${place}` }
}

/** Who can write to the file besides its owner and root. null: no one. */
export function findWriters({ mode, gid }: Pick<Stats, 'mode' | 'gid'>): string | null {
  if (!HAS_OWNERS) return null
  if (mode & WRITABLE_BY_ALL) return 'every user'
  return mode & WRITABLE_BY_GROUP && !isPrivateGroup(gid) ? `the group ${groupName(gid)}` : null
}

/**
 * Many systems give each user a private group and make new files writable by it. Any other group counts as shared,
 * even without members, because services and setgid programs can run with it.
 */
function isPrivateGroup(gid: number): boolean {
  const group = linesOf('/etc/group').find(([, , id]) => id === String(gid))
  if (group === undefined) return false
  const users = linesOf('/etc/passwd')
  const members = (group[3] ?? '').split(',').filter((name) => name !== '')
  const owners = users.filter(([, , , primary]) => primary === String(gid)).map(([, , uid]) => Number(uid))
  const ids = members.map((name) => Number(users.find(([user]) => user === name)?.[2] ?? Number.NaN))
  return owners.length > 0 && [...owners, ...ids].every((uid) => uid === ROOT || uid === ownUserId())
}

const userName = (uid: number) => linesOf('/etc/passwd').find(([, , id]) => id === String(uid))?.[0] ?? String(uid)
const groupName = (gid: number) => linesOf('/etc/group').find(([, , id]) => id === String(gid))?.[0] ?? String(gid)

function linesOf(file: string): string[][] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(':'))
}
