type Load<Module> = () => Promise<Module>

const loads: Load<unknown>[] = []

/**
 * The code of a part of the app, asked for again until it comes: what rejects once would stay broken until a reload,
 * and the service may just be restarting. All parts are listed for `loadAhead`.
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

/** Fetches every part while the service is there: each must open at once, also when it is away later. */
export async function loadAhead(): Promise<void> {
  for (const load of loads) await load()
}
