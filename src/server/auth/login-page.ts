import { escapeHtml } from '../html.ts'
import { smallPage } from '../small-page.ts'

/**
 * The page for browsers without a session. `problem` says why the last attempt failed. The form has no address of its
 * own, so that the browser keeps the fragment, the page of the UI that was wanted.
 */
export function loginPage(problem: string | null): string {
  const shown = problem === null ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>\n`
  const body = `<h1>Scrapdeck</h1>
<p>Log in with the user name and password that <code>npm run scrapdeck -- credentials</code> shows.</p>
${shown}<form method="post">
<label>User name<input name="username" autocomplete="username" required autofocus></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit">Log in</button>
</form>`
  return smallPage({ title: 'Log in to Scrapdeck', body })
}
