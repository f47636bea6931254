import { serveTask } from '../../runtime/task-worker.ts'
import { planText } from './plan-in-thread.ts'

void serveTask(planText)
