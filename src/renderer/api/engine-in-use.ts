import { hasBrowserSession } from './browser-session.ts'

/** The engine that answers this page, among several on one database. */
export interface EngineInUse {
  engine: string
  leads: boolean
}

/** Every engine answers this itself, also one that forwards all else. null: there is only one, or it does not say. */
export async function askEngineInUse(): Promise<EngineInUse | null> {
  if (!hasBrowserSession()) return null
  const response = await fetch(new URL('../health/live', document.baseURI).href)
  const { engine, leads } = (await response.json()) as Partial<EngineInUse>
  return typeof engine === 'string' && typeof leads === 'boolean' ? { engine, leads } : null
}
