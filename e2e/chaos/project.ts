import { aProjectName } from '../../src/shared/testing/ids.ts'
import { buildEgg } from '../../src/engine/projects/egg-builder.ts'

export const PROJECT = 'chaos'

const FILES = {
  'scrapy.cfg': '[settings]\ndefault = chaos.settings\n',
  'chaos/__init__.py': '',
  'chaos/settings.py': 'SPIDER_MODULES = ["chaos.spiders"]\nTELNETCONSOLE_ENABLED = False\n',
  'chaos/spiders.py': `import scrapy


class Quick(scrapy.Spider):
    """Listed by Scrapyd, played by chaos_runner.py."""
    name = "quick"


class Real(scrapy.Spider):
    """Runs in Scrapy, asks nobody for anything and ends."""
    name = "real"
    start_urls = []
`
}

export async function chaosEgg(): Promise<File> {
  const files = Object.entries(FILES).map(([path, text]) => ({ path, bytes: Buffer.from(text) }))
  const egg = await buildEgg(files, { project: aProjectName(PROJECT) })
  return new File([egg as Uint8Array<ArrayBuffer>], 'chaos.egg')
}
