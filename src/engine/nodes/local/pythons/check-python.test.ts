import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../runtime/clock.ts'
import { makeTemporaryDirectory } from '../../../testing/temporary-directory.ts'
import { findTestPython } from '../../../testing/test-python.ts'
import { requirePython } from './check-python.ts'

test.skipIf(process.platform === 'win32').each([
  ['prints {"version": "3.12.1", "hasScrapy": true}', null],
  [
    'prints {"version": "3.8.10", "hasScrapy": true}',
    'is version 3.8.10; spiders need 3.10 or newer. Correct --python'
  ],
  ['prints {"version": "3.12.1", "hasScrapy": false}', 'has no Scrapy ('],
  ['prints nonsense', 'is not a Python that can be used'],
  ['is missing', 'does not exist. Correct --python, SCRAPDECK_PYTHON or the option python, or remove it']
])('a named Python that %s: %s', async (behaviour, problem) => {
  await using place = await makeTemporaryDirectory()
  const command = join(place.path, 'python')
  if (behaviour !== 'is missing') await writeFile(command, `#!/bin/sh\necho '${behaviour.replace('prints ', '')}'\n`)
  if (behaviour !== 'is missing') await chmod(command, 0o755)
  const checked = requirePython(command, { directory: place.path, clock: systemClock })
  if (problem === null) await checked
  else await expect(checked).rejects.toThrow(`The Python ${command} ${problem}`)
})

test.skipIf(process.platform === 'win32')(
  'a named Python finds its Scrapy even if the finders of other packages lack methods or throw',
  async () => {
    await using place = await makeTemporaryDirectory()
    const finders = join(place.path, 'packages')
    await mkdir(join(finders, 'scrapy'), { recursive: true })
    await writeFile(join(finders, 'scrapy', '__init__.py'), '')
    await writeFile(
      join(finders, 'sitecustomize.py'),
      `import sys
class Old:
    def find_module(self, name, path=None): return None
class Throws:
    def find_spec(self, name, path=None, target=None):
        if name == "scrapy": raise RuntimeError("not now")
sys.meta_path[:0] = [Old(), Throws()]
`
    )
    const command = join(place.path, 'python')
    await writeFile(command, `#!/bin/sh\nPYTHONPATH='${finders}' exec '${findTestPython()}' "$@"\n`)
    await chmod(command, 0o755)
    await requirePython(command, { directory: place.path, clock: systemClock })
  }
)
