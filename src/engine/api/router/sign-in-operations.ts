import { ScrapdeckError } from '../../../shared/errors.ts'
import type { Principal } from '../../access/principal.ts'
import type { SignIns } from '../../access/sign-ins.ts'
import type { implementWithRights } from './required-rights.ts'
import type { RouterContext } from './router-context.ts'

/** The operations of programs that people sign in. */
export const signInOperations = (os: ReturnType<typeof implementWithRights>, signIns: SignIns) => ({
  signIns: {
    get: os.signIns.get.handler(({ input, context }) => signIns.get(personIn(context), input.userCode)),
    approve: os.signIns.approve.handler(({ input, context }) => ({
      code: signIns.approve(personIn(context), input, context.sessions?.ownIsOpen ?? ALWAYS)
    })),
    deny: os.signIns.deny.handler(({ input, context }) => {
      signIns.deny(personIn(context), input.userCode)
      return { denied: true as const }
    })
  }
})

/** The desktop's own window has no session that could end. */
const ALWAYS = () => true

/** The user of a page. No program may sign in another one: a token could outlive itself that way. */
function personIn({ principal, isFromPage }: RouterContext): Principal {
  if (isFromPage === true && principal.tokenId === null) return principal
  throw new ScrapdeckError(
    'BROWSER_REQUIRED',
    'A program is signed in on a page of the UI, by a user who is logged in there. Open the address that it shows in a browser.'
  )
}
