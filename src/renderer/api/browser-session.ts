/** In a browser, the user is logged in with a session that can end; the desktop's window has no session. */
export const hasBrowserSession = (): boolean => window.scrapdeck === undefined

/** Ends this browser's session and its streams, then shows Scrapdeck's login page or the identity provider's. */
export async function logOut(): Promise<void> {
  // The response redirects to the login page; in any case, that page shows whether the session has ended.
  const response = await fetch(urlOf('logout'), { method: 'POST', redirect: 'manual' })
  const { continueAt } = (response.ok ? await response.json().catch(() => ({})) : {}) as { continueAt?: string }
  if (continueAt === undefined) openLogin()
  else window.location.assign(continueAt)
}

export function openLogin(): void {
  window.location.assign(urlOf('login'))
}

/** Relative to `/ui/`. */
const urlOf = (path: string): string => new URL(path, document.baseURI).href
