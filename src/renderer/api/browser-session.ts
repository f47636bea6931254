/** Whether the page runs in a browser, which has a login session that can expire. The desktop's window has none. */
export const hasBrowserSession = (): boolean => window.scrapdeck === undefined

/** Ends the browser's session and its streams, then opens the login page of Scrapdeck or of the identity provider. */
export async function logOut(): Promise<void> {
  // Without `continueAt`, open the login page, which also shows whether the session has ended.
  const response = await fetch(urlOf('logout'), { method: 'POST', redirect: 'manual' })
  const { continueAt } = (response.ok ? await response.json().catch(() => ({})) : {}) as { continueAt?: string }
  if (continueAt === undefined) openLogin()
  else window.location.assign(continueAt)
}

export function openLogin(): void {
  window.location.assign(urlOf('login'))
}

const urlOf = (path: string): string => new URL(path, document.baseURI).href
