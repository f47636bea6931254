/** The address of an engine's local node, which contains the engine's name. */
export const addressOfEngine = (engine: string): string => `engine:${encodeURIComponent(engine)}`

/** The name of the engine; null: it is another address. */
export function engineOfAddress(url: string): string | null {
  const [, name] = /^engine:([\w.~!*'()%-]{1,600})$/.exec(url) ?? []
  try {
    return name === undefined ? null : decodeURIComponent(name)
  } catch {
    return null
  }
}
