import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { MINIMUM_SIZE, createWindowStateWriter, placeToSave, placeWindow, readWindowState } from './window-state.ts'

const LAPTOP = { x: 0, y: 0, width: 1920, height: 1080 }
const SECOND = { x: 1920, y: 0, width: 2560, height: 1440 }
const NEW = { fullScreen: false, view: '' }

describe('window placement', () => {
  test('a first start gets a centred window', () => {
    expect(placeWindow(null, [LAPTOP])).toEqual({ x: 240, y: 90, width: 1440, height: 900, maximized: false, ...NEW })
  })

  test('a window reopens where it was', () => {
    const left = { x: 2100, y: 50, width: 1500, height: 1000, maximized: true, ...NEW }
    expect(placeWindow(left, [LAPTOP, SECOND])).toEqual(left)
  })

  test('a window on a disconnected display moves to the first one', () => {
    const left = { x: 2100, y: 50, width: 1500, height: 1000, maximized: false, ...NEW }
    expect(placeWindow(left, [LAPTOP])).toEqual({ x: 240, y: 90, width: 1440, height: 900, maximized: false, ...NEW })
  })

  test('a window that the window manager shows elsewhere than requested is saved where it was requested', () => {
    const bounds = fc.record({ x: fc.integer(), y: fc.integer(), width: fc.integer(), height: fc.integer() })
    fc.assert(
      fc.property(bounds, bounds, fc.integer(), (requested, shown, dx) => {
        expect(placeToSave(shown, shown, requested)).toEqual(requested)
        expect(placeToSave({ ...shown, x: shown.x + dx }, shown, requested).x).toBe(requested.x + dx)
      })
    )
  })

  test('the title bar of a window is always reachable', () => {
    const coordinate = fc.integer({ min: -5000, max: 5000 })
    const size = fc.integer({ min: 1, max: 5000 })
    fc.assert(
      fc.property(coordinate, coordinate, size, size, (x, y, width, height) => {
        const place = placeWindow({ x, y, width, height, maximized: false, ...NEW }, [LAPTOP])
        expect(place.y).toBeGreaterThanOrEqual(LAPTOP.y)
        expect(place.y).toBeLessThan(LAPTOP.height)
        expect(place.x + place.width).toBeGreaterThan(LAPTOP.x)
        expect(place.x).toBeLessThan(LAPTOP.width)
        expect(place.width).toBeGreaterThanOrEqual(MINIMUM_SIZE.width)
      })
    )
  })
})

describe('the window state file', () => {
  let directory = ''
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'scrapdeck-window-'))
  })
  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  test('stores the last position after a flush', async () => {
    const path = join(directory, 'window.json')
    const writer = createWindowStateWriter(path)
    const place = { x: 1, y: 2, width: 1000, height: 700, maximized: false, ...NEW }
    for (let x = 0; x < 50; x += 1) writer.save({ ...place, x })
    await writer.flush()
    expect(readWindowState(path)).toEqual({ ...place, x: 49 })
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ ...place, x: 49 })
  })

  test.each(['', 'null', '{"x":1}', '{"x":0,"y":0,"width":-1,"height":5,"maximized":false}'])(
    'is ignored if damaged (%s)',
    (text) => {
      const path = join(directory, 'window.json')
      writeFileSync(path, text)
      expect(readWindowState(path)).toBeNull()
    }
  )
})
