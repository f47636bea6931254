import { createHash } from 'node:crypto'
import type { SecretForApp } from '../../engine/index.ts'
import { escapeHtml } from '../html.ts'
import { SMALL_PAGE_POLICY, smallPage } from '../small-page.ts'
import { SIGN_IN_PATH } from './oidc-sign-in.ts'

export const PASSKEY_OPTIONS_PATH = '/ui/login/passkey'

/** Adds the fragment, which names the UI's page, to the link. Browsers do not send fragments to servers. */
const LINK_SCRIPT = `const link = document.querySelector('a.button')
if (location.hash) link.href += '?page=' + encodeURIComponent(location.hash)`

/** Shows the form only if the browser can parse the options, and submits it with the passkey's response. */
const PASSKEY_SCRIPT = `const form = document.getElementById('passkey')
const field = form.elements.passkey
const problem = form.querySelector('.problem')
if (window.PublicKeyCredential?.parseRequestOptionsFromJSON) form.hidden = false
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  problem.textContent = ''
  try {
    const answer = await fetch('${PASSKEY_OPTIONS_PATH}', { method: 'POST' })
    if (!answer.ok) throw new Error(await answer.text())
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await answer.json())
    const credential = await navigator.credentials.get({ publicKey })
    field.value = JSON.stringify(credential.toJSON())
    form.submit()
  } catch (error) {
    problem.textContent = error.name === 'NotAllowedError'
      ? 'No passkey was used. Try again, or log in with your password.'
      : error.message || 'The passkey cannot be used. Try again, or log in with your password.'
  }
})`

const sourceOf = (script: string): string => `'sha256-${createHash('sha256').update(script).digest('base64')}'`

export interface LoginPage {
  /** Why the last attempt failed, or null if there was no attempt. */
  problem: string | null
  /** The name of the identity provider, or null if none is configured. */
  signInWith: string | null
  /** `yes` shows a button. `problem` is why passkeys cannot be used. null if no user has a passkey. */
  passkeys: 'yes' | { problem: string } | null
  /** Whether the page is shown at an address other than `/ui/login`. */
  isElsewhere?: boolean
}

export function loginPagePolicy({ signInWith, passkeys }: LoginPage): string {
  const scripts = [...(signInWith === null ? [] : [LINK_SCRIPT]), ...(passkeys === 'yes' ? [PASSKEY_SCRIPT] : [])]
  const policy =
    scripts.length === 0 ? SMALL_PAGE_POLICY : `${SMALL_PAGE_POLICY}; script-src ${scripts.map(sourceOf).join(' ')}`
  return passkeys === 'yes' ? `${policy}; connect-src 'self'` : policy
}

/** At `/ui/login`, the forms have no action, so that the browser keeps the fragment, which names the UI's page. */
export function loginPage({ problem, signInWith, passkeys, isElsewhere = false }: LoginPage): string {
  const action = isElsewhere ? ' action="/ui/login"' : ''
  const elsewhere =
    signInWith === null
      ? ''
      : `<a class="button" href="${SIGN_IN_PATH}">Log in with ${escapeHtml(signInWith)}</a>
<p class="or">or with a password of this Scrapdeck</p>
`
  const hint =
    signInWith === null && passkeys === null
      ? '<p>Log in with the user name and password that <code>npm run scrapdeck -- credentials</code> shows.</p>\n'
      : ''
  const scripts = `${signInWith === null ? '' : `\n<script>${LINK_SCRIPT}</script>`}${passkeys === 'yes' ? `\n<script>${PASSKEY_SCRIPT}</script>` : ''}`
  const body = `<h1>Scrapdeck</h1>
${hint}${problemText(problem)}${elsewhere}<form method="post"${action}>
<label>User name<input name="username" autocomplete="username" required${signInWith === null ? ' autofocus' : ''}></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required></label>
<button type="submit"${signInWith === null ? '' : ' class="second"'}>Log in</button>
</form>${passkeyForm(passkeys, action)}${scripts}`
  return smallPage({ title: 'Log in to Scrapdeck', body })
}

function passkeyForm(passkeys: LoginPage['passkeys'], action: string): string {
  if (passkeys === null) return ''
  if (passkeys !== 'yes') return `\n<p class="after">${escapeHtml(passkeys.problem)}</p>`
  return `
<form method="post" id="passkey" class="after" hidden${action}>
<p class="problem" role="alert"></p>
<input type="hidden" name="passkey">
<button type="submit" class="second">Log in with a passkey</button>
</form>`
}

/** The page after the password. `step` identifies the login. */
export function codePage({ problem, step }: { problem: string | null; step: string }): string {
  const body = `<h1>Enter the code</h1>
<p>Your authenticator app shows it. A recovery code works as well, once.</p>
${problemText(problem)}${codeForm(step, 'Log in')}
<p class="after"><a href="/ui/login">Start again</a></p>`
  return smallPage({ title: 'Log in to Scrapdeck', body })
}

/**
 * The page for setting up the authenticator app. Shown after the password if every user needs a second factor and this
 * user has none.
 */
export function setUpPage({
  problem,
  step,
  app: { secret, qrCode }
}: {
  problem: string | null
  step: string
  app: Pick<SecretForApp, 'secret' | 'qrCode'>
}): string {
  const body = `<h1>Set up an authenticator app</h1>
<p>This Scrapdeck asks everybody for a second factor. Scan this with an authenticator app, then enter the code that it shows.</p>
<div class="qr">${qrCode}</div>
<p>Without a camera, enter this key: <code>${escapeHtml(secret)}</code></p>
${problemText(problem)}${codeForm(step, 'Turn on and log in')}
<p class="after"><a href="/ui/login">Start again</a></p>`
  return smallPage({ title: 'Set up an authenticator app', body })
}

/** Shown once, after authenticator setup and login. As on the login page, the form keeps the fragment. */
export function recoveryCodesPage(codes: readonly string[]): string {
  const body = `<h1>Save your recovery codes</h1>
<p>If you lose your phone, each of these codes works once in place of a code from the app. They are not shown again.</p>
<pre>${codes.map(escapeHtml).join('\n')}</pre>
<form method="post">
<input type="hidden" name="saved" value="yes">
<button type="submit">I have saved them</button>
</form>`
  return smallPage({ title: 'Recovery codes', body })
}

const codeForm = (step: string, submit: string): string => `<form method="post">
<input type="hidden" name="step" value="${escapeHtml(step)}">
<label>Code<input name="code" autocomplete="one-time-code" maxlength="40" autocapitalize="none" spellcheck="false" required autofocus></label>
<button type="submit">${submit}</button>
</form>`

const problemText = (problem: string | null): string =>
  problem === null ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>\n`
