import { JobId } from '../shared/contract/index.ts'

export const DEEP_LINK_SCHEME = 'scrapdeck'

/** The job that a `scrapdeck://job/ID` link points at, or null for anything else. A link shows; it never acts. */
export function jobIdOfDeepLink(link: string): JobId | null {
  const match = /^scrapdeck:\/\/job\/([^/?#]+)\/?$/.exec(link)
  return JobId.safeParse(match?.[1]).data ?? null
}

/** The first deep link among a process's arguments: how Windows and Linux hand one over. */
export function findDeepLink(argv: readonly string[]): string | null {
  return argv.find((argument) => argument.startsWith(`${DEEP_LINK_SCHEME}://`)) ?? null
}
