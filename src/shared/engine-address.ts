export const addressOfEngine = (engine: string): string => `engine:${encodeURIComponent(engine)}`

export function engineOfAddress(url: string): string | null {
  const [, name] = /^engine:([\w.~!*'()%-]{1,600})$/.exec(url) ?? []
  try {
    return name === undefined ? null : decodeURIComponent(name)
  } catch {
    return null
  }
}
