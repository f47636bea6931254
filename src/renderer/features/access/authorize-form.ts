import { z } from 'zod'
import { SignInApproval, SignInRequester } from '../../../shared/contract/index.ts'
import type { AuthorizeSearch } from '../../state/search.ts'
import { texts } from '../../../shared/texts/ui/access.ts'

export const APPROVAL_EXPIRIES = {
  '1': texts.days(1),
  '7': texts.days(7),
  '30': texts.days(30),
  '90': texts.days(90),
  '365': texts.days(365)
} as const

export const ApprovalForm = z
  .object({
    role: z.string(),
    /** Empty: all of the user's projects. */
    projects: z.array(z.string().trim().min(1)).max(200),
    expiry: z.enum(Object.keys(APPROVAL_EXPIRIES) as (keyof typeof APPROVAL_EXPIRIES)[])
  })
  .transform(
    ({ role, projects, expiry }): Omit<SignInApproval, 'to'> => ({
      role,
      projects: projects.length === 0 ? null : (projects as NonNullable<SignInApproval['projects']>),
      expiresInDays: Number(expiry)
    })
  )

export type ApprovalTexts = z.input<typeof ApprovalForm>

export type Asked =
  | { is: 'code' }
  | { is: 'unusable'; why: string }
  | { is: 'redirect'; requester: SignInRequester; redirectUri: string; state: string; to: SignInApproval['to'] }

const Redirect = SignInApproval.shape.to.options[0]

/** The request in the URL. Anyone can forge it, so the code goes only to a program on this computer. */
export function readAuthorize(search: AuthorizeSearch): Asked {
  const { client, host, user = '', redirect_uri: redirectUri, state, code_challenge: challenge, ...rest } = search
  if (redirectUri === undefined) return { is: 'code' }
  if (rest.code_challenge_method !== 'S256' || state === undefined) {
    return { is: 'unusable', why: texts.addressIncomplete }
  }
  const requester = { client, host, user }
  const to = Redirect.safeParse({ kind: 'redirect', requester, redirectUri, challenge })
  if (to.success) return { is: 'redirect', requester: to.data.requester, redirectUri, state, to: to.data }
  const isElsewhere = to.error.issues.some(({ path }) => path[0] === 'redirectUri')
  return {
    is: 'unusable',
    why: isElsewhere ? texts.addressElsewhere : texts.addressIncomplete
  }
}
