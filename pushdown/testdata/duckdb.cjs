// Runs the SQL on standard input in DuckDB, in memory, and writes the rows of the last
// statement in JSON. It needs the npm package @duckdb/node-api.
const { DuckDBInstance } = require('@duckdb/node-api');
const { readFileSync } = require('node:fs');

async function main() {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const reader = await connection.runAndReadAll(readFileSync(0, 'utf8'));
  console.log(JSON.stringify(reader.getRowObjectsJson()));
}

main().catch((error) => {
  console.error(String(error));
  process.exit(1);
});
