import { buildEgg } from '../projects/egg-builder.ts'

export async function aSpiderEgg(spiders: string): Promise<File> {
  const files = {
    'scrapy.cfg': '[settings]\ndefault = shop.settings\n',
    'shop/__init__.py': '',
    'shop/settings.py': 'SPIDER_MODULES = ["shop.spiders"]\nTELNETCONSOLE_ENABLED = False\n',
    'shop/spiders.py': spiders
  }
  const egg = await buildEgg(Object.entries(files).map(([path, text]) => ({ path, bytes: Buffer.from(text) })))
  return new File([egg as Uint8Array<ArrayBuffer>], 'shop.egg')
}
