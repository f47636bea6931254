let chosen: string | undefined

/** The locale of dates and numbers. In English, dates are British: `23 Nov`, 24 hours. */
export const locale = (): string => chosen ?? 'en-GB'

/** The locale for text that is not English in an English app; undefined: the reader's own locale. */
export const readersLocale = (): string | undefined => chosen

/** Only `setLanguage` calls this. */
export function setLocale(of: string): void {
  chosen = of
}
