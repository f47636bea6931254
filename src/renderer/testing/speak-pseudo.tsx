/** Makes a pseudo-language of the English texts and chooses it. Import this before anything else of the app. */
import fs from 'node:fs'
import path from 'node:path'
import type { ReactNode } from 'react'
import { vi } from 'vitest'
import type * as Area from '../../shared/texts/ui/area.ts'
import { pseudo, pseudoMessages } from './pseudo-language.ts'

const FOLDER = path.join(import.meta.dirname, '../../shared/texts/ui')
const FILES = fs.readdirSync(FOLDER).filter((file) => !/^(?:area|rich)\b/.test(file))

const { en } = await import('../../shared/texts/en.ts')
const { errorTexts } = await import('../../shared/texts/error-texts.ts')
const areas: Record<string, object> = {}
for (const file of FILES) {
  const { texts, common } = (await import(/* @vite-ignore */ path.join(FOLDER, file))) as Record<string, object>
  areas[path.basename(file, '.ts')] = pseudo((texts ?? common)!)
}
// Areas read their language when they are loaded, so the app must load them again.
vi.resetModules()
const { setLanguage } = (await import('../../shared/texts/ui/area.ts')) as typeof Area
// Greek dates have no Latin letters.
setLanguage({ locale: 'el', areas, messages: pseudoMessages({ ...en, ...errorTexts }) })

// Tooltips are texts too, but appear only under a mouse.
vi.doMock('@mantine/core', async (load) => {
  const mantine = await load<typeof import('@mantine/core')>()
  const Tooltip = ({ label, children }: { label: ReactNode; children: ReactNode }) => (
    <>
      {children}
      <span>{label}</span>
    </>
  )
  return { ...mantine, Tooltip: Object.assign(Tooltip, mantine.Tooltip) }
})
