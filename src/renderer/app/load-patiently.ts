type Load<Module> = () => Promise<Module>

const loads: Load<unknown>[] = []

/**
 * Loads the code of a part of the app and retries until it succeeds: after one rejection it would stay broken until a
 * reload, and the service may just be restarting. All parts are registered for `loadAhead`.
 */
export function loadPatiently<Module>(load: Load<Module>, retryAfterMs = 1000): Load<Module> {
  const patient = async () => {
    for (;;) {
      try {
        return await load()
      } catch (error) {
        console.warn('A part of the app could not be loaded. Retrying', error)
        await new Promise((resolve) => setTimeout(resolve, retryAfterMs))
      }
    }
  }
  loads.push(patient)
  return patient
}

/**
 * Preloads every part while the service is up, so that each opens at once, even when the service is down later. One at
 * a time, each when the page has nothing else to do; none over a connection that its user pays for or that is slow.
 */
export async function loadAhead(): Promise<void> {
  const { connection } = navigator as { connection?: { saveData: boolean; effectiveType: string } }
  if (connection?.saveData === true || /2g|3g/.test(connection?.effectiveType ?? '')) return
  for (const load of loads) {
    await new Promise((idle) => (window.requestIdleCallback ?? setTimeout)(idle))
    await load()
  }
}
