import { JobId } from '../shared/contract/index.ts'

export const DEEP_LINK_SCHEME = 'scrapdeck'

/** The job id in a `scrapdeck://job/ID` link; null for anything else. Links only show things; they never act. */
export function jobIdOfDeepLink(link: string): JobId | null {
  const match = /^scrapdeck:\/\/job\/([^/?#]+)\/?$/.exec(link)
  return JobId.safeParse(match?.[1]).data ?? null
}

/** The first deep link in the arguments of a process: how Windows and Linux pass links. */
export function findDeepLink(argv: readonly string[]): string | null {
  return argv.find((argument) => argument.startsWith(`${DEEP_LINK_SCHEME}://`)) ?? null
}
