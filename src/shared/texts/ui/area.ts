import { common } from './common.ts'

/** The texts of one language by area: `{ common: {…}, jobs: {…} }`. Missing texts stay English. */
export type Language = Readonly<Record<string, object>>

let language: Language = {}
let isRead = false

/** Must be called before any area is loaded, because each area reads its language once. */
export function setLanguage(chosen: Language): void {
  if (isRead) throw new Error('Set the language before a module with texts is loaded')
  language = chosen
}

export function area<T extends object>(name: string, english: T): Omit<typeof common, keyof T> & T {
  isRead = true
  return { ...common, ...language['common'], ...english, ...language[name] }
}
