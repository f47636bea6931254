/** The texts of one language by area, `{ jobs: {…} }`. Missing ones stay English. */
export type Language = Readonly<Record<string, object>>

let language: Language = {}
let isRead = false

/** Call before any area is loaded: an area reads its language once, and so do constants made from texts. */
export function setLanguage(chosen: Language): void {
  if (isRead) throw new Error('Set the language before a module with texts is loaded')
  language = chosen
}

/**
 * The texts of one area of the UI in the chosen language. `english` defines all of them, and the types of their
 * parameters.
 */
export function area<T extends object>(name: string, english: T): T {
  isRead = true
  return { ...english, ...language[name] }
}
