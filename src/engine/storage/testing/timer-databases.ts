import DatabaseConstructor from 'better-sqlite3'

/** Tables as SQLAlchemy creates them for ScrapydWeb 1.4 to 1.6 (models.py), and APScheduler 3 for its job store. */
const SCRAPYDWEB = `
CREATE TABLE task (
	id INTEGER NOT NULL,
	name VARCHAR(255),
	"trigger" VARCHAR(8) NOT NULL,
	create_time DATETIME NOT NULL,
	update_time DATETIME NOT NULL,
	project VARCHAR(255) NOT NULL,
	version VARCHAR(255) NOT NULL,
	spider VARCHAR(255) NOT NULL,
	jobid VARCHAR(255) NOT NULL,
	settings_arguments TEXT NOT NULL,
	selected_nodes TEXT NOT NULL,
	year VARCHAR(255) NOT NULL,
	month VARCHAR(255) NOT NULL,
	day VARCHAR(255) NOT NULL,
	week VARCHAR(255) NOT NULL,
	day_of_week VARCHAR(255) NOT NULL,
	hour VARCHAR(255) NOT NULL,
	minute VARCHAR(255) NOT NULL,
	second VARCHAR(255) NOT NULL,
	start_date VARCHAR(19),
	end_date VARCHAR(19),
	timezone VARCHAR(255),
	jitter INTEGER NOT NULL,
	misfire_grace_time INTEGER,
	coalesce VARCHAR(5) NOT NULL,
	max_instances INTEGER NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE task_result (
	id INTEGER NOT NULL,
	task_id INTEGER NOT NULL,
	execute_time DATETIME NOT NULL,
	fail_count INTEGER NOT NULL,
	pass_count INTEGER NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(task_id) REFERENCES task (id)
);
CREATE TABLE task_job_result (
	id INTEGER NOT NULL,
	task_result_id INTEGER NOT NULL,
	run_time DATETIME NOT NULL,
	node INTEGER NOT NULL,
	server VARCHAR(255) NOT NULL,
	status_code INTEGER NOT NULL,
	status VARCHAR(9) NOT NULL,
	result TEXT NOT NULL,
	PRIMARY KEY (id),
	FOREIGN KEY(task_result_id) REFERENCES task_result (id)
);`

const APSCHEDULER = `
CREATE TABLE apscheduler_jobs (
	id VARCHAR(191) NOT NULL,
	next_run_time FLOAT,
	job_state BLOB NOT NULL,
	PRIMARY KEY (id)
);
CREATE INDEX ix_apscheduler_jobs_next_run_time ON apscheduler_jobs (next_run_time);`

/** Tables from Django's migrations in Gerapy 0.9.10 and later. */
const GERAPY = `
CREATE TABLE "core_client" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "name" varchar(255) NOT NULL, "ip" varchar(255) NULL,
  "port" integer NULL, "description" text NULL, "auth" integer NULL, "username" varchar(255) NULL, "password" varchar(255) NULL,
  "created_at" datetime NOT NULL, "updated_at" datetime NOT NULL);
CREATE TABLE "core_task" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "project" varchar(255) NULL, "spider" varchar(255) NULL,
  "name" varchar(255) NULL, "args" text NULL, "description" text NULL, "configuration" text NULL, "created_at" datetime NOT NULL,
  "updated_at" datetime NOT NULL, "clients" text NULL, "trigger" varchar(255) NULL, "modified" bool NOT NULL);`

const DAY = '2026-01-01 00:00:00.000000'

type Row = Record<string, string | number | null>

/** A task with the form's defaults: every day at midnight. */
const A_TASK: Row = {
  name: null,
  trigger: 'cron',
  create_time: DAY,
  update_time: DAY,
  project: 'shop',
  version: 'default: the latest version',
  spider: 'prices',
  jobid: '2026-01-01T00_00_00',
  settings_arguments: '{"setting": []}',
  selected_nodes: '[1]',
  year: '*',
  month: '*',
  day: '*',
  week: '*',
  day_of_week: '*',
  hour: '0',
  minute: '0',
  second: '0',
  start_date: null,
  end_date: null,
  timezone: 'Asia/Shanghai',
  jitter: 0,
  misfire_grace_time: 600,
  coalesce: 'True',
  max_instances: 1
}

function fill(path: string, schema: string, rows: { table: string; row: Row }[]): void {
  const database = new DatabaseConstructor(path)
  database.exec(schema)
  for (const { table, row } of rows) {
    const names = Object.keys(row)
    database
      .prepare(
        `INSERT INTO ${table} (${names.map((name) => `"${name}"`).join()}) VALUES (${names.map(() => '?').join()})`
      )
      .run(...Object.values(row))
  }
  database.close()
}

/** Creates `timer_tasks.db`. Ids start at 1. `servers`: where a task ran, by node number. */
export function makeScrapydWebDatabase(path: string, tasks: Row[], servers: Record<number, string> = {}): void {
  const ran = Object.entries(servers).map(([node, server]) => ({
    table: 'task_job_result',
    row: { task_result_id: 1, run_time: DAY, node: Number(node), server, status_code: 200, status: 'ok', result: 'x' }
  }))
  const result = { task_id: 1, execute_time: DAY, fail_count: 0, pass_count: 1 }
  const history = ran.length === 0 ? [] : [{ table: 'task_result', row: result }, ...ran]
  fill(path, SCRAPYDWEB, [...tasks.map((task) => ({ table: 'task', row: { ...A_TASK, ...task } })), ...history])
}

/** Creates `apscheduler.db`. A job whose next run time is null is paused. */
export function makeApschedulerDatabase(path: string, nextRunTimes: Record<string, number | null>): void {
  const jobs = Object.entries(nextRunTimes).map(([id, next_run_time]) => ({ id, next_run_time, job_state: 'pickled' }))
  fill(
    path,
    APSCHEDULER,
    jobs.map((row) => ({ table: 'apscheduler_jobs', row }))
  )
}

/** Creates `db.sqlite3`. Ids start at 1. */
export function makeGerapyDatabase(path: string, clients: Row[], tasks: Row[]): void {
  const times = { created_at: DAY, updated_at: DAY }
  fill(path, GERAPY, [
    ...clients.map((client) => ({ table: 'core_client', row: { ...times, ...client } })),
    ...tasks.map((task) => ({ table: 'core_task', row: { ...times, modified: 0, ...task } }))
  ])
}
