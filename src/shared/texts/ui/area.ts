import { setLocale } from '../../locale.ts'
import type { Catalogue } from '../message.ts'
import { common } from './common.ts'

/** One language. Texts that an area lacks stay English. */
export interface Language {
  /** Of dates and numbers, such as `de`. */
  locale: string
  /** The texts of the screens, by area: `{ common: {…}, jobs: {…} }`. */
  areas: Readonly<Record<string, object>>
  /** The texts that the engine stores and sends, by code. */
  messages: Catalogue
}

let language: Language | null = null
let isRead = false

/** Must be called before any area is loaded, because each area reads its language once. */
export function setLanguage(chosen: Language): void {
  if (isRead) throw new Error('Set the language before a module with texts is loaded')
  language = chosen
  setLocale(chosen.locale)
}

export function area<T extends object>(name: string, english: T): Omit<typeof common, keyof T> & T {
  isRead = true
  return { ...common, ...language?.areas['common'], ...english, ...language?.areas[name] }
}

/** The texts in the named fields of a table: `label.run_jobs` of `{ run_jobs: { label, … } }`. */
export const textsIn = <Name extends string, Field extends string>(
  table: Readonly<Record<Name, { readonly [F in Field]: string | null }>>,
  fields: readonly Field[]
) =>
  Object.fromEntries(
    Object.entries<{ readonly [F in Field]: string | null }>(table).flatMap(([name, row]) =>
      fields.map((field) => [`${field}.${name}`, row[field]])
    )
  ) as Record<`${Field}.${Name}`, string>

/** Null in English: the engine's texts then need no rendering. */
export const messagesOfLanguage = (): Catalogue | null => language?.messages ?? null
