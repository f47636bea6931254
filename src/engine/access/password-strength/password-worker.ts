import { serveTask } from '../../runtime/task-worker.ts'
import { isGuessable } from './judge-password.ts'

void serveTask(isGuessable)
