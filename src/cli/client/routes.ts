import { contract } from '../../shared/contract/index.ts'

/** The route of each operation. The build replaces this file with a table, because the schemas load slowly. */
export const routes = contract
