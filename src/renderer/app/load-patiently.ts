type Load<Module> = () => Promise<Module>

const loads: Load<unknown>[] = []

/**
 * Loads the code of one part of the app and retries until it succeeds. Otherwise, a single failure, such as a restart
 * of the service, would leave the part broken until a reload. Registers the part for `loadAhead`.
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
 * Preloads every part while the service is up, so that each opens immediately, even if the service goes down. Loads
 * the parts one at a time while the page is idle, but not over a metered or slow connection.
 */
export async function loadAhead(): Promise<void> {
  const { connection } = navigator as { connection?: { saveData: boolean; effectiveType: string } }
  if (connection?.saveData === true || /2g|3g/.test(connection?.effectiveType ?? '')) return
  for (const load of loads) {
    await new Promise((idle) => (window.requestIdleCallback ?? setTimeout)(idle))
    await load()
  }
}
