import { serveTask } from '../runtime/task-worker.ts'
import type { EggTask } from './egg-thread.ts'
import { openEgg } from './egg-opening.ts'

void serveTask(({ path, naming, builtPath }: EggTask) => openEgg(path, naming, builtPath))
