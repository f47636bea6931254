import { accessErrors } from './errors/access.ts'
import { apiErrors } from './errors/api.ts'
import { cliErrors } from './errors/cli.ts'
import { desktopErrors } from './errors/desktop.ts'
import { namesErrors } from './errors/names.ts'
import { networkErrors } from './errors/network.ts'
import { nodesErrors } from './errors/nodes.ts'
import { notifyErrors } from './errors/notify.ts'
import { projectsErrors } from './errors/projects.ts'
import { runsErrors } from './errors/runs.ts'
import { serverErrors } from './errors/server.ts'
import { storageErrors } from './errors/storage.ts'
import { valuesErrors } from './errors/values.ts'

export const errorTexts = {
  ...accessErrors,
  ...apiErrors,
  ...cliErrors,
  ...desktopErrors,
  ...namesErrors,
  ...networkErrors,
  ...nodesErrors,
  ...notifyErrors,
  ...projectsErrors,
  ...runsErrors,
  ...serverErrors,
  ...storageErrors,
  ...valuesErrors
}
