// The app of the binary's own resources. Does what Electron's default app does for `electron DIRECTORY …`: it loads the
// app of that directory.
/** @type {any} the types are those of the app's own Electron */
const app = require('electron').app
const { readFileSync } = require('node:fs')
const path = require('node:path')

const given = process.argv.slice(1).find((word) => !word.startsWith('-') && !word.includes('://'))
const directory = path.resolve(given ?? '.')
const { name, version, main } = JSON.parse(readFileSync(path.join(directory, 'package.json'), 'utf8'))
app.setName(name)
app.setVersion?.(version)
app.setAppPath?.(directory)
const own = process.argv.find((word) => word.startsWith('--user-data-dir='))
if (own) app.setPath('userData', own.slice('--user-data-dir='.length))
require(path.join(directory, main))
