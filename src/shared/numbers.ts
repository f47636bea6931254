import { locale } from './locale.ts'

let counts: Intl.NumberFormat | undefined

/** `1,204` */
export const formatCount = (value: number): string => (counts ??= new Intl.NumberFormat(locale())).format(value)

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`
