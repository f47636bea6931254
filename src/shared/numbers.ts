const counts = new Intl.NumberFormat('en')

/** `1,204` */
export const formatCount = (value: number): string => counts.format(value)

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`
