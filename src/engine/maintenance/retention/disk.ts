import { statfs } from 'node:fs/promises'
import { type Clock, type Timer } from '../../runtime/clock.ts'

export interface DiskSample {
  atMs: number
  totalBytes: number
  freeBytes: number
}

export interface DiskState extends DiskSample {
  /** When the disk will be full at the current rate. null: not within a month, no steady rate, or not known yet. */
  fullAtMs: number | null
}

/** The time between measurements, short enough to raise alerts before a fast-filling disk is full. */
const MEASURE_EVERY_MS = 15_000
const SAMPLE_EVERY_MS = 300_000
/** The number of samples, which cover six hours: shorter than a daily rhythm, longer than one large upload. */
const SAMPLES_KEPT = 72
/** The shortest observation from which a rate can be estimated. */
const OBSERVED_MIN_MS = 1_800_000
const FORECAST_MAX_MS = 30 * 86_400_000
/**
 * The observed time is divided into this many spans of equal length. A trend requires that each span uses at least
 * TREND_SHARE of the average, because a single build or upload is not a trend.
 */
const TREND_SPANS = 4
const TREND_SHARE = 0.25

export function forecastDisk(samples: readonly DiskSample[]): DiskState | null {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined) return null
  const [tookMs, usedBytes] = [last.atMs - first.atMs, first.freeBytes - last.freeBytes]
  if (tookMs < OBSERVED_MIN_MS || usedBytes <= 0) return { ...last, fullAtMs: null }
  const edges = Array.from({ length: TREND_SPANS + 1 }, (_, edge) => first.atMs + (tookMs * edge) / TREND_SPANS)
  const free = edges.map((edgeMs) => samples.findLast(({ atMs }) => atMs <= edgeMs)!.freeBytes)
  const leastBytes = (usedBytes / TREND_SPANS) * TREND_SHARE
  if (free.slice(1).some((bytes, span) => free[span]! - bytes < leastBytes)) return { ...last, fullAtMs: null }
  const leftMs = (last.freeBytes / usedBytes) * tookMs
  return { ...last, fullAtMs: leftMs > FORECAST_MAX_MS ? null : Math.round(last.atMs + leftMs) }
}

export type MeasureDisk = () => Promise<{ totalBytes: number; freeBytes: number }>

/** The space available to this process, as in `df`. */
export const measureDiskOf =
  (directory: string): MeasureDisk =>
  async () => {
    const { bsize, blocks, bavail } = await statfs(directory)
    return { totalBytes: bsize * blocks, freeBytes: bsize * bavail }
  }

export class DiskWatch {
  readonly #parts: { clock: Clock; measure: MeasureDisk; onSample: () => void }
  #samples: DiskSample[] = []
  #newest: DiskSample | null = null
  #timer: Timer | null = null
  #isStopped = false

  constructor(parts: { clock: Clock; measure: MeasureDisk; onSample: () => void }) {
    this.#parts = parts
  }

  state(): DiskState | null {
    return forecastDisk(this.#newest === null ? [] : [...this.#samples, this.#newest])
  }

  start(): void {
    void this.#measure()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #measure(): Promise<void> {
    const { clock, measure, onSample } = this.#parts
    const found = await measure().catch(() => null)
    if (this.#isStopped) return
    this.#timer = clock.setTimer(MEASURE_EVERY_MS, () => void this.#measure())
    if (found === null) return
    const before = this.#newest
    this.#newest = { ...found, atMs: clock.nowMs() }
    const last = this.#samples.at(-1)
    if (last === undefined || this.#newest.atMs - last.atMs >= SAMPLE_EVERY_MS)
      this.#samples = [...this.#samples, this.#newest].slice(-SAMPLES_KEPT)
    const isSame = before?.freeBytes === found.freeBytes && before.totalBytes === found.totalBytes
    if (!isSame) onSample()
  }
}
