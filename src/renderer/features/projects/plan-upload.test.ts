import { unzipSync } from 'fflate'
import { describe, expect, it } from 'vitest'
import { isLeftOut, planUploads, projectOfConfig } from './plan-upload.ts'

function dropped(path: string, text = 'x'): File {
  const file = new File([text], path.split('/').at(-1) as string)
  Object.defineProperty(file, 'path', { value: path })
  return file
}

describe('planUploads', () => {
  it('takes project and version of a wheel from its name', async () => {
    const { plans, problems } = await planUploads([new File(['abc'], 'my_shop-1.4.0-py3-none-any.whl')])
    expect(problems).toEqual([])
    expect(plans).toMatchObject([{ guess: { project: 'my_shop', version: '1.4.0' } }])
  })

  it('uploads eggs and zips unchanged and parses the names that setuptools gives', async () => {
    const egg = new File(['abc'], 'shop-1.4.0-py3.12.egg')
    const { plans, problems } = await planUploads([egg, new File(['z'], 'thing.zip')])
    expect(problems).toEqual([])
    expect(plans.map(({ name, sizeBytes, guess }) => ({ name, sizeBytes, guess }))).toEqual([
      { name: 'shop-1.4.0-py3.12.egg', sizeBytes: 3, guess: { project: 'shop', version: '1.4.0' } },
      { name: 'thing.zip', sizeBytes: 1, guess: { project: null, version: null } }
    ])
    expect(await plans[0]?.open()).toBe(egg)
  })

  it('zips a dropped project folder from the folder of its scrapy.cfg, without machine-specific files', async () => {
    const { plans, problems } = await planUploads([
      dropped('./work/shop/scrapy.cfg', '[settings]\ndefault = shop.settings\n[deploy]\nproject = webshop\n'),
      dropped('./work/shop/shop/__init__.py', ''),
      dropped('./work/shop/shop/spiders/a.py', 'spider'),
      dropped('./work/shop/shop/__pycache__/a.pyc'),
      dropped('./work/shop/.git/config'),
      dropped('./work/shop/.env', 'SECRET=1')
    ])
    expect(problems).toEqual([])
    expect(plans).toHaveLength(1)
    expect(plans[0]).toMatchObject({ name: 'shop', fileCount: 3, guess: { project: 'webshop' } })
    const file = (await plans[0]?.open()) as File
    expect(file.name).toBe('shop.zip')
    const entries = unzipSync(new Uint8Array(await file.arrayBuffer()))
    expect(Object.keys(entries).sort()).toEqual(['scrapy.cfg', 'shop/__init__.py', 'shop/spiders/a.py'])
    expect(new TextDecoder().decode(entries['shop/spiders/a.py'])).toBe('spider')
  })

  it('reports once what is missing in a folder without scrapy.cfg, and which file is not an archive', async () => {
    const { plans, problems } = await planUploads([
      dropped('/photos/a.jpg'),
      dropped('/photos/b.jpg'),
      new File(['x'], 'notes.txt')
    ])
    expect(plans).toEqual([])
    expect(problems).toHaveLength(2)
    expect(problems[0]).toContain('notes.txt')
    expect(problems[1]).toContain('photos has no scrapy.cfg')
  })
})

describe('projectOfConfig', () => {
  it.each([
    ['[deploy]\nurl = http://x\nproject = shop', 'shop'],
    ['[settings]\nproject = no\n[deploy:eu]\nproject: shop\n', 'shop'],
    ['[settings]\ndefault = a.settings', null]
  ])('%j', (text, project) => {
    expect(projectOfConfig(text)).toBe(project)
  })
})

it.each([
  ['shop/spiders/a.py', false],
  ['shop/.scrapy/x', true],
  ['venv/bin/python', true],
  ['shop.egg-info/PKG-INFO', true]
])('leaves out %s: %s', (path, isOut) => {
  expect(isLeftOut(path)).toBe(isOut)
})
