import { escapeHtml } from '../html.ts'
import { smallPage } from '../small-page.ts'

/** The page for browsers without a session. `problem` says why the last attempt failed. */
export function loginPage(problem: string | null): string {
  const shown = problem === null ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>\n`
  const body = `<h1>Scrapdeck</h1>
<p>Log in with the user name and password that <code>npm run scrapdeck -- credentials</code> shows.</p>
${shown}<form method="post" action="/ui/login">
<label>User name<input name="username" autocomplete="username" required autofocus></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit">Log in</button>
</form>`
  return smallPage({ title: 'Log in to Scrapdeck', body })
}
