import { createHash } from 'node:crypto'
import { escapeHtml } from '../html.ts'
import { SMALL_PAGE_POLICY, smallPage } from '../small-page.ts'
import { SIGN_IN_PATH } from './oidc-sign-in.ts'

/** A page of the UI is behind `#`, which a browser keeps to itself: the link takes it along. */
const SCRIPT = `const link = document.querySelector('a.button')
if (location.hash) link.href += '?page=' + encodeURIComponent(location.hash)`

/** With the one script that the page has if people can sign in elsewhere. */
export const LOGIN_PAGE_POLICY = `${SMALL_PAGE_POLICY}; script-src 'sha256-${createHash('sha256').update(SCRIPT).digest('base64')}'`

/**
 * The page for browsers without a session. `problem` says why the last attempt failed; `signInWith`: the identity
 * provider, null: there is none. At its own address, the form has none, so that the browser keeps the fragment, the
 * page of the UI that was wanted.
 */
export function loginPage({
  problem,
  signInWith,
  isElsewhere = false
}: {
  problem: string | null
  signInWith: string | null
  isElsewhere?: boolean
}): string {
  const shown = problem === null ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>\n`
  const elsewhere =
    signInWith === null
      ? ''
      : `<a class="button" href="${SIGN_IN_PATH}">Sign in with ${escapeHtml(signInWith)}</a>
<p class="or">or with a password of this Scrapdeck</p>
`
  const hint =
    signInWith === null
      ? '<p>Log in with the user name and password that <code>npm run scrapdeck -- credentials</code> shows.</p>\n'
      : ''
  const body = `<h1>Scrapdeck</h1>
${hint}${shown}${elsewhere}<form method="post"${isElsewhere ? ' action="/ui/login"' : ''}>
<label>User name<input name="username" autocomplete="username" required${signInWith === null ? ' autofocus' : ''}></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit"${signInWith === null ? '' : ' class="second"'}>Log in</button>
</form>${signInWith === null ? '' : `\n<script>${SCRIPT}</script>`}`
  return smallPage({ title: 'Log in to Scrapdeck', body })
}
