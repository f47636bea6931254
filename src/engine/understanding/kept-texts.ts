import { LATEST_KINDS, type LatestKind, type Tally } from './figures.ts'
import { readable } from './log-text.ts'

const MAX_LATEST = 400
const MAX_ITEM = 1500
/** A character has at most four bytes. */
const MAX_ITEM_BYTES = 4 * MAX_ITEM

export interface KeptTexts {
  keep(kind: LatestKind, text: string, from: number, to: number): void
  startItem(): void
  /** The next line of the item. */
  addToItem(text: string, from: number, to: number): void
  /** Decodes what is kept of the texts given so far, which are about to go. */
  decode(): void
}

/**
 * The newest line of each kind, and the newest item. Only where they are is noted for each line; decoding and copying
 * happens once for each piece of the log.
 */
export function createKeptTexts(tally: Tally): KeptTexts {
  let item = ''
  /** What belongs to the item in the text that is being read; from -1: nothing. */
  let itemText = ''
  let itemFrom = -1
  let itemTo = -1
  const places = LATEST_KINDS.map((kind) => ({ kind, text: '', from: 0, to: -1 }))
  const placeOf = Object.fromEntries(places.map((place) => [place.kind, place])) as Record<
    LatestKind,
    (typeof places)[0]
  >

  function decodeItem(): void {
    if (itemFrom < 0) return
    // With its line ends: then it does not matter where the pieces of the log were cut.
    const end = itemTo + (itemText.startsWith('\r\n', itemTo) ? 2 : itemText.startsWith('\n', itemTo) ? 1 : 0)
    item = (item + itemText.slice(itemFrom, Math.min(end, itemFrom + MAX_ITEM_BYTES))).slice(0, MAX_ITEM_BYTES)
    tally.latest.item = readable(item, 0, item.length - (item.endsWith('\n') ? 1 : 0), MAX_ITEM)
    itemFrom = -1
    itemText = ''
  }

  return {
    keep(kind, text, from, to) {
      const place = placeOf[kind]
      place.text = text
      place.from = from
      place.to = to
    },
    startItem() {
      item = ''
      itemFrom = -1
    },
    addToItem(text, from, to) {
      if (itemFrom < 0) {
        itemText = text
        itemFrom = from
      }
      itemTo = to
    },
    decode() {
      decodeItem()
      for (const place of places) {
        if (place.to < 0) continue
        tally.latest[place.kind] = readable(place.text, place.from, place.to, MAX_LATEST)
        place.text = ''
        place.to = -1
      }
    }
  }
}
