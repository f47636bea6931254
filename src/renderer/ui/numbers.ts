import { texts } from '../../shared/texts/ui/shared.ts'
export { formatBytes } from '../../shared/format-bytes.ts'
export { formatCount } from '../../shared/numbers.ts'

/** `184 MB`, `1.5 GB`: in units of 1,024, as limits and operating systems count memory. */
export function formatMemory(sizeBytes: number): string {
  const megabytes = sizeBytes / 1_048_576
  if (megabytes >= 1024) return `${Number((megabytes / 1024).toFixed(1))} GB`
  return `${megabytes >= 10 || megabytes === 0 ? Math.round(megabytes) : megabytes.toFixed(1)} MB`
}

/** `32 %` of one core. Two busy cores are `200 %`. */
export const formatCpuShare = (share: number): string => `${Math.round(share * 100)} %`

/** `3.2 s`, `48 s`, `4 min 10 s`, `2 h 5 min`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  if (whole < 3600) return texts.minutesAndSeconds(Math.floor(whole / 60), whole % 60)
  return texts.hoursAndMinutes(Math.floor(whole / 3600), Math.floor((whole % 3600) / 60))
}

/** `3 nodes · 24 slots · 1 with problems`: omits empty facts. */
export const joinFacts = (...facts: readonly (string | false | null | undefined)[]): string =>
  facts.filter(Boolean).join(' · ')
