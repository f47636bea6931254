/** The texts of one language by area, `{ jobs: {…} }`. What it leaves out stays English. */
export type Language = Readonly<Record<string, object>>

let language: Language = {}

/** Runs before any area is loaded: an area reads its language once, and so may constants that are made of texts. */
export function setLanguage(chosen: Language): void {
  language = chosen
}

/** The texts of one area of the UI in the chosen language. `english` has them all, and the types of parameters. */
export const area = <T extends object>(name: string, english: T): T => ({ ...english, ...language[name] })
