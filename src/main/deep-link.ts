import { JOB_ID_PATTERN } from '../shared/ids.ts'

export const DEEP_LINK_SCHEME = 'scrapdeck'

/** The job that a `scrapdeck://job/ID` link points at, or null for anything else. A link shows; it never acts. */
export function jobIdOfDeepLink(link: string): string | null {
  const match = /^scrapdeck:\/\/job\/([^/?#]+)\/?$/.exec(link)
  return match?.[1] && JOB_ID_PATTERN.test(match[1]) ? match[1] : null
}

/** The first deep link among a process's arguments: how Windows and Linux hand one over. */
export function findDeepLink(argv: readonly string[]): string | null {
  return argv.find((argument) => argument.startsWith(`${DEEP_LINK_SCHEME}://`)) ?? null
}
