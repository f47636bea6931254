/** The texts of one language by area, `{ jobs: {…} }`. What it leaves out stays English. */
export type Language = Readonly<Record<string, object>>

let language: Language = {}
let isRead = false

/** Before any area is loaded: an area reads its language once, and so do constants that are made of texts. */
export function setLanguage(chosen: Language): void {
  if (isRead) throw new Error('Set the language before a module with texts is loaded')
  language = chosen
}

/** The texts of one area of the UI in the chosen language. `english` has them all, and the types of parameters. */
export function area<T extends object>(name: string, english: T): T {
  isRead = true
  return { ...english, ...language[name] }
}
