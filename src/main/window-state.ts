import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { z } from 'zod'

const WindowState = z.object({
  x: z.number().int(),
  y: z.number().int(),
  width: z.number().int().positive().max(20_000),
  height: z.number().int().positive().max(20_000),
  maximized: z.boolean(),
  fullScreen: z.boolean().default(false),
  /** The part of the page's address after its origin, such as `#/jobs`. */
  view: z.string().max(4_000).default('')
})
export type WindowState = z.infer<typeof WindowState>

type Rectangle = Pick<WindowState, 'x' | 'y' | 'width' | 'height'>

// The minimum size of the window. The UI is designed for displays of at least 1280 × 720.
export const MINIMUM_SIZE = { width: 960, height: 600 }
const FIRST_SIZE = { width: 1440, height: 900 }
const SAVE_AFTER_MS = 400
// How much of the title bar must be on a display, so that the user can drag the window.
const GRABBABLE_PX = 80

/** Restores the window's position if a display still shows it. Otherwise, centres the window on the first display. */
export function placeWindow(saved: WindowState | null, workAreas: Rectangle[]): WindowState {
  const [first] = workAreas
  const { maximized = false, fullScreen = false, view = '' } = saved ?? {}
  if (!first) return saved ?? { x: 0, y: 0, ...FIRST_SIZE, maximized, fullScreen, view }
  if (saved && workAreas.some((area) => canBeGrabbed(saved, area))) {
    return {
      ...saved,
      width: Math.max(saved.width, MINIMUM_SIZE.width),
      height: Math.max(saved.height, MINIMUM_SIZE.height)
    }
  }
  const width = Math.min(FIRST_SIZE.width, first.width)
  const height = Math.min(FIRST_SIZE.height, first.height)
  return {
    x: Math.round(first.x + (first.width - width) / 2),
    y: Math.round(first.y + (first.height - height) / 2),
    width,
    height,
    maximized,
    fullScreen,
    view
  }
}

/**
 * The place to save for a window that is now at `bounds`. X11 window managers add their frame to the requested place,
 * so the window was shown at `shown` instead of `requested`. Without this correction, it would move at each start.
 */
export function placeToSave(bounds: Rectangle, shown: Rectangle, requested: Rectangle): Rectangle {
  return {
    x: bounds.x + requested.x - shown.x,
    y: bounds.y + requested.y - shown.y,
    width: bounds.width + requested.width - shown.width,
    height: bounds.height + requested.height - shown.height
  }
}

/** Reads synchronously before the first paint, because the window needs the state and the file is small. */
export function readWindowState(path: string): WindowState | null {
  try {
    const parsed = WindowState.safeParse(JSON.parse(readFileSync(path, 'utf8')))
    return parsed.success ? parsed.data : null
  } catch {
    // The window opens like a new one, for example on the first start or if the file is damaged.
    return null
  }
}

/** Writes after a pause in the changes, for example at the end of a drag. `flush` writes the pending state. */
export function createWindowStateWriter(path: string): { save(state: WindowState): void; flush(): Promise<void> } {
  let waiting: WindowState | null = null
  let timer: NodeJS.Timeout | undefined
  let lastWrite = Promise.resolve()

  function flush(): Promise<void> {
    clearTimeout(timer)
    const state = waiting
    waiting = null
    if (state) lastWrite = lastWrite.then(() => writeState(path, state))
    return lastWrite
  }

  return {
    save(state) {
      waiting = state
      clearTimeout(timer)
      timer = setTimeout(() => void flush(), SAVE_AFTER_MS)
    },
    flush
  }
}

async function writeState(path: string, state: WindowState): Promise<void> {
  try {
    await writeFile(`${path}.new`, JSON.stringify(state))
    await rename(`${path}.new`, path)
  } catch (error) {
    console.warn('The window position could not be saved:', error)
  }
}

function canBeGrabbed(window: Rectangle, area: Rectangle): boolean {
  const visibleWidth = Math.min(window.x + window.width, area.x + area.width) - Math.max(window.x, area.x)
  const topIsOnDisplay = window.y >= area.y && window.y <= area.y + area.height - GRABBABLE_PX
  return visibleWidth >= GRABBABLE_PX && topIsOnDisplay
}
